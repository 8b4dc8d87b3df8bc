import { closedSecret } from '../secrecy/rules.ts';
import { defineTool } from './define-tool.ts';
import { askPlaywright } from './playwright-form.ts';

const EARLIER_CLOSED = closedSecret(
  'Messages of earlier pages are closed once a credential was filled in.',
  'Leave "all" out.',
);

export const consoleMessages = defineTool({
  name: 'browser_console_messages',
  seconds: 10,
  effect: 'reads',
  whileTainted: {
    closed: 'its console is closed',
    refusedAnywhere: ({ all }) => (all === true ? EARLIER_CLOSED : undefined),
  },
  shorter: 'a level of "error" gives fewer messages',
  playwright: {
    sets: ['playwright', 'both'],
    title: 'Get console messages',
    description: 'Console messages of the page',
    args: { level: 'And more severe (default info)', all: 'Earlier pages too' },
    unlisted: [],
    settles: 'nothing',
    snapshotAfter: false,
    run: askPlaywright,
  },
});
