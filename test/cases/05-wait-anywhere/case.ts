import { defineCase } from '../case.ts';

const until = (args: object) => ({
  tool: 'browser_wait_for',
  args: { ...args, snapshot: 'none' },
  shows: /Waited for/,
});

export default defineCase({
  title: 'what the snapshot shows can be waited for: in frames and shadow roots, across elements, in fields and names',
  steps: () => [
    until({ text: 'Frame is ready' }),
    until({ textGone: 'Working in a frame' }),
    until({ textGone: 'Copying files' }),
    until({ text: 'Pay now or later' }),
    until({ text: '42 euro' }),
    until({ text: 'a red kite' }),
    until({ text: 'Shadow text' }),
    until({ textGone: 'Only hidden' }),
    {
      tool: 'browser_wait_for',
      args: { text: 'Never seen' },
      shows: /browser_action_timeout.*The page does not show "Never seen"/,
      hides: /Call log/,
    },
  ],
});
