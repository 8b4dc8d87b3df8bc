import { closedSecret } from '../secrecy/rules.ts';
import { defineTool } from './define-tool.ts';
import { askPlaywright } from './playwright-form.ts';

const SENT_CLOSED = closedSecret(
  'What was sent is closed once a credential was filled in.',
  'The other parts are open.',
);

export const networkRequest = defineTool({
  name: 'browser_network_request',
  seconds: 10,
  effect: 'reads',
  whileTainted: {
    closed: 'its requests are closed',
    refusedAnywhere: ({ part }) => (part === 'request-body' ? SENT_CLOSED : undefined),
    requestIndex: ({ index }) => (typeof index === 'number' ? index : undefined),
  },
  shorter: 'a part gives less',
  playwright: {
    sets: ['playwright', 'both'],
    title: 'Show network request details',
    description: 'Headers and body of one request',
    args: { index: 'Of browser_network_requests', part: 'Left out: all' },
    unlisted: [],
    settles: 'nothing',
    snapshotAfter: false,
    run: askPlaywright,
  },
});
