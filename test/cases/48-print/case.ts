import { defineCase } from '../case.ts';

// browser-use/browser-use#3459
export default defineCase({
  title: 'a print button says that the page asked to print',
  steps: () => [
    { tool: 'browser_click', args: { target: 'button' }, shows: [/The page asked to print/, /Page Title: printed/] },
    { tool: 'browser_press_key', args: { key: 'Tab' }, hides: /asked to print/ },
  ],
});
