import { defineCase } from '../case.ts';

// microsoft/playwright-mcp#852
export default defineCase({
  title: 'a click on the heading of a card opens it through the click layer of the card',
  steps: () => [
    {
      tool: 'browser_click',
      args: { target: 'a' },
      shows: /A clear layer of the page lies over the element/,
      logs: 'opened',
    },
  ],
});
