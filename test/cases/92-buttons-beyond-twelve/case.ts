import { defineCase } from '../case.ts';

export default defineCase({
  title: 'Apply and Cancel after a calendar of 31 days are shown with refs',
  steps: () => [
    { tool: 'browser_snapshot', shows: [/"Apply" \[ref=\w+\]/, /"Cancel" \[ref=\w+\]/, /"31" \[ref=\w+\]/] },
    { tool: 'browser_click', args: { target: 'text=Apply' }, logs: 'apply' },
  ],
});
