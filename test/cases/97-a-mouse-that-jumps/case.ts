import { defineCase } from '../case.ts';

export default defineCase({
  title: 'a list that leaves the first movement alone takes the item that is clicked',
  steps: at => [
    { tool: 'browser_click', args: { target: '#o' } },
    { tool: 'browser_click', args: { target: 'text=Glasgow' }, shows: /Done: Glasgow/ },
    { tool: 'browser_navigate', args: { url: at.url } },
    { tool: 'browser_click', args: { selector: '#o' } },
    { tool: 'browser_click', args: { selector: 'text=Genoa' } },
    { tool: 'browser_snapshot', shows: /Done: Genoa/ },
  ],
});
