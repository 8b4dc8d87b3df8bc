import { expect } from 'vitest';
import { defineCase } from '../case.ts';

/** 5 s on a quiet machine; it took 17 while the document of the frame was awaited, and the frame was removed. */
const ANSWER_MS = 10_000;

let askedMs = 0;

export default defineCase({
  title: 'a page whose frame, picture, style and script never come is shown, and loses none of them',
  opens: false,
  steps: ({ url }) => [
    {
      tool: 'browser_tabs',
      args: { action: 'list' },
      check() {
        askedMs = performance.now();
      },
    },
    {
      tool: 'browser_navigate',
      args: { url },
      shows: [/heading "Prices"/, /textbox "Note"/, /still loading/, /Basket: empty/, /this frame has not loaded/],
      hides: /removed/,
      check: () => expect(performance.now() - askedMs).toBeLessThan(ANSWER_MS),
    },
    { tool: 'browser_wait_for', args: { text: 'Prices' }, shows: /Waited for Prices/ },
    { tool: 'browser_snapshot', shows: [/heading "Prices"/, /this frame has not loaded/] },
  ],
});
