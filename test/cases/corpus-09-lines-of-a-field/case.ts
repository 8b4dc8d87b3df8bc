import { defineCase } from '../case.ts';

export default defineCase({
  title: 'a value of several lines is told as it is',
  steps: () => [
    { tool: 'browser_snapshot', shows: /textbox[^\n]*: "first: oats\\n {2}second: salt\\n\\nthird: honey "/ },
    { tool: 'browser_type', args: { target: '#to', text: 'first: oats\n  second: salt\n\nthird: honey ' } },
    { tool: 'browser_click', args: { target: '#c' }, shows: /Done: same/ },
  ],
});
