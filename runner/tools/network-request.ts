import type { CallToolResult } from '@modelcontextprotocol/server';
import { bareText, quotedLines, withoutMarks } from '../browser/page-text.ts';
import { closedSecret } from '../secrecy/rules.ts';
import { defineTool } from './define-tool.ts';

const SENT_CLOSED = closedSecret(
  'The request body is closed once a credential was filled in.',
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
    args: { index: 'Number in browser_network_requests', part: 'Left out: all' },
    unlisted: [],
    settles: 'nothing',
    snapshotAfter: false,
    run: async (args, call) => quoteRequest(await call.ask(args), args.part !== undefined),
  },
});

/** Four spaces, and the name of a header or a fact before its value. */
const HEADER = /^( {4}[^:\s]+: +)(.*)$/;

/** A request as Playwright MCP shows it: a part that a site sent is quoted below its heading, and so is each header. */
function quoteRequest(result: CallToolResult, isPart: boolean): CallToolResult {
  const quoted = (text: string): string => {
    const [head = '', ...lines] = text.split('\n');
    if (lines.length === 0) return withoutMarks(head);
    const below = isPart
      ? quotedLines(lines.join('\n'))
      : lines.map(line => withoutMarks(line.replace(HEADER, (_all, name, value) => name + bareText(value)))).join('\n');
    return `${withoutMarks(head)}\n${below}`;
  };
  const content = result.content.map(part => (part.type === 'text' ? { ...part, text: quoted(part.text) } : part));
  return { ...result, content };
}
