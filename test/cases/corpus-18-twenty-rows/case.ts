import { defineCase } from '../case.ts';

export default defineCase({
  title: 'a table of 20 rows that fits is shown whole',
  steps: () => [{ tool: 'browser_snapshot', shows: /row: Cleat \| 19 \| button "Buy" \[ref=/, hides: /more of/ }],
});
