import { defineCase } from '../case.ts';

export default defineCase({
  title: 'a code goes into its boxes, each of which takes one character',
  steps: () => [
    {
      tool: 'browser_type',
      args: { target: 'ref of textbox "Digit 1"', text: '123456' },
      shows: /code 123456/,
      hides: /holds/,
    },
  ],
});
