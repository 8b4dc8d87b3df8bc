import { DEVELOPER_WORDS, defineCase } from '../case.ts';

export default defineCase({
  title: 'a group without a role is shown alone by its selector',
  steps: () => [
    {
      tool: 'browser_snapshot',
      args: { target: '#left' },
      shows: [/"Take the lamp" \[ref=/, /"Take the rope" \[ref=/],
      hides: /net|error/,
    },
    { tool: 'browser_snapshot', args: { target: '[[' }, shows: /no selector that can be read/, hides: /too_small/ },
    { tool: 'browser_snapshot', args: { target: '#none' }, shows: /element_not_found/, hides: /too_small/ },
    {
      tool: 'browser_evaluate',
      args: { target: 'div', element: 'it', function: 'element => element.id' },
      shows: /names \d+ elements/,
      hides: DEVELOPER_WORDS,
    },
    { tool: 'browser_snapshot', args: { target: '#said' }, shows: /Nothing yet/, hides: /lamp/ },
  ],
});
