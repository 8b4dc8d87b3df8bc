import type { CallToolResult } from '@modelcontextprotocol/server';
import * as z from 'zod';
import { evaluateInDocument, evaluateOnPage } from '../acting/evaluate.ts';
import { defineTool } from './define-tool.ts';
import { type BrowserCall, onPage } from './playwright-form.ts';

/** The tab is marked in this time. */
const MARK_SECONDS = 10;

export const evaluate = defineTool({
  name: 'browser_evaluate',
  seconds: 30,
  effect: 'acts',
  whileTainted: { closed: 'no script of yours runs in it' },
  shorter: 'return less of it',
  playwright: {
    sets: ['playwright', 'both'],
    title: 'Evaluate JavaScript',
    description: 'Run JavaScript in the page, or on one element',
    args: { function: '() => {...}, or element => {...} with a target' },
    unlisted: [],
    settles: { firstMs: 0, begins: 'script' },
    snapshotAfter: false,
    run: async (args, call) => (await evaluateSafely(args, call)) ?? runScript(args, call),
  },
});

const runScript = onPage({ function: z.string(), target: z.string().optional() }, evaluateOnPage);

/** Evaluates where a page may hold a secret. Undefined: none may; from then on the page is known to have run a script of the agent's. */
async function evaluateSafely(args: Record<string, unknown>, call: BrowserCall): Promise<CallToolResult | undefined> {
  const { documents, credentials } = call.lease;
  if (documents.isGuarding())
    return call.onPage(page => evaluateInDocument(page, documents, args, () => call.refusal(page)));
  if (credentials.names.length === 0) return undefined;
  const marked = await call.onPage(async page => {
    documents.runsScript(page);
    return { content: [] };
  }, MARK_SECONDS);
  return marked.isError ? marked : undefined;
}
