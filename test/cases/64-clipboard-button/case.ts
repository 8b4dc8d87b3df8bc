import { defineCase, reads } from '../case.ts';

// microsoft/playwright-mcp#759
export default defineCase({
  title: 'a button that copies works, and what it copied can be pasted',
  steps: () => [
    { tool: 'browser_click', args: { target: 'button' }, shows: /Copied!/ },
    { tool: 'browser_click', args: { target: '#p' } },
    { tool: 'browser_press_key', args: { key: 'Control+V' } },
    reads('p.value', /key-4711/),
  ],
});
