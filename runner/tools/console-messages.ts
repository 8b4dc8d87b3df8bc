import type { CallToolResult } from '@modelcontextprotocol/server';
import { withoutMarks } from '../browser/page-text.ts';
import { closedSecret } from '../secrecy/rules.ts';
import { defineTool } from './define-tool.ts';

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
    run: async (args, call) => withoutMarkedNames(await call.ask(args)),
  },
});

/** The messages as Playwright MCP lists them. Their texts have no marks where it finds them; a script may give itself a name that has. */
const withoutMarkedNames = (listed: CallToolResult): CallToolResult => ({
  ...listed,
  content: listed.content.map(part => (part.type === 'text' ? { ...part, text: withoutMarks(part.text) } : part)),
});
