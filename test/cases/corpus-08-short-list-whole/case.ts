import { defineCase } from '../case.ts';

export default defineCase({
  title: 'a list of 22 links that fits is shown whole',
  steps: () => [{ tool: 'browser_snapshot', shows: [/"Udine" \[ref=/, /"Ypres" \[ref=/], hides: /more of/ }],
});
