import { defineCase } from '../case.ts';

export default defineCase({
  title: 'headings tell their level',
  steps: () => [{ tool: 'browser_snapshot', shows: [/heading "Stones" \[level=2\]/, /heading "Balance" \[level=3\]/] }],
});
