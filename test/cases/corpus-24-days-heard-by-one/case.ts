import { defineCase } from '../case.ts';

export default defineCase({
  title: 'days of a calendar that listens for all of them have refs; other numbers of a table have none',
  steps: () => [
    { tool: 'browser_snapshot', shows: /15 \[ref=\w+\]/, hides: /4\d \[ref=\w+\] \| 4\d/ },
    { tool: 'browser_find', args: { text: '16' }, shows: /16 \[ref=\w+\]/ },
  ],
});
