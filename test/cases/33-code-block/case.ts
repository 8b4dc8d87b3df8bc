import { defineCase } from '../case.ts';

export default defineCase({
  title: 'lines and indents of code, and the lines of a textarea, can be read',
  steps: () => [
    {
      tool: 'browser_snapshot',
      shows: [
        /- code\n - \| def f\(x\):\n - \| {5}if x:\n - \| {9}return 1\n - \| {5}return 2\n/,
        /textbox "Note"[^\n]*: "first line\\nsecond line"/,
      ],
    },
    { tool: 'browser_find', args: { text: 'return 2' }, shows: /^Found 1 match/ },
  ],
});
