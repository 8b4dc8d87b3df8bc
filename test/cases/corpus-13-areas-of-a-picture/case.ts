import { defineCase } from '../case.ts';

export default defineCase({
  title: 'areas of a picture are links with names',
  steps: () => [{ tool: 'browser_snapshot', shows: /link "Pond" \[ref=\w+\] #pond/ }],
});
