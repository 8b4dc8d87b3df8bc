import { defineCase } from '../case.ts';

export default defineCase({
  title: 'a group without a role is shown alone by its selector',
  steps: () => [
    {
      tool: 'browser_snapshot',
      args: { target: '#left' },
      shows: [/"Take the lamp" \[ref=/, /"Take the rope" \[ref=/],
      hides: /net|error/,
    },
    { tool: 'browser_snapshot', args: { target: '#said' }, shows: /Nothing yet/, hides: /lamp/ },
  ],
});
