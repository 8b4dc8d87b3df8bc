import { defineCase } from '../case.ts';

export default defineCase({
  title: 'what can be dragged, and where to, has refs',
  steps: () => [
    {
      tool: 'browser_snapshot',
      shows: [/\[ref=\w+\]: Stir/, /\[ref=\w+\]: Ready/, /generic \[ref=\w+\]\n - text: To do/],
    },
  ],
});
