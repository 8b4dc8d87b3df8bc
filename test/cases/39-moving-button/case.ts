import { defineCase } from '../case.ts';

// microsoft/playwright-mcp#586
export default defineCase({
  title: 'a button that never stands still is clicked',
  steps: () => [{ tool: 'browser_click', args: { target: 'button' }, logs: 'hit' }],
});
