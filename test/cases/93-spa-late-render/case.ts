import { defineCase } from '../case.ts';

const open = (link: string, shows: RegExp) => ({ tool: 'browser_click', args: { target: `text=${link}` }, shows });
const back = { tool: 'browser_navigate_back', shows: /heading "List"/ };

// vercel-labs/agent-browser#1203, drisplabs/browser-mcp#15
export default defineCase({
  title: 'a click that changes the route answers the view of the new address, and so does going back',
  steps: () => [
    open('Item 1', /Detail 1/),
    back,
    open('Item 2', /Detail 2/),
    back,
    open('Item 3', /Detail 3/),
    back,
    open('About', /About us/),
    back,
  ],
});
