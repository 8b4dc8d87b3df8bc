import { defineCase } from '../case.ts';

// microsoft/playwright-mcp#1117
export default defineCase({
  title: 'a text that shows is found, though an element with the same text before it is hidden',
  steps: () => [
    { tool: 'browser_click', args: { target: 'button' } },
    {
      tool: 'browser_wait_for',
      args: { text: 'Order saved' },
      shows: [/Waited for Order saved/, /paragraph: Order saved/],
    },
  ],
});
