import type { CallToolResult } from '@modelcontextprotocol/server';
import * as z from 'zod';
import { textOf, textResult } from '../results/result.ts';
import { defineTool } from './define-tool.ts';
import type { BrowserCall } from './playwright-form.ts';

export const networkRequests = defineTool({
  name: 'browser_network_requests',
  seconds: 10,
  effect: 'reads',
  whileTainted: 'open',
  shorter: 'a filter gives fewer requests',
  playwright: {
    sets: ['playwright', 'both'],
    title: 'List network requests',
    description: 'Numbered requests of the page',
    args: { static: 'Images, fonts, scripts as well', filter: 'Pattern of URLs' },
    unlisted: [],
    settles: 'nothing',
    snapshotAfter: false,
    run: listRequests,
  },
});

const listArguments = z.looseObject({ filter: z.string().optional() });

/** A line of Playwright MCP's list: `3. [GET] https://shop.example/a => [200] OK`. */
const LINE = /^\d+\. \[[A-Z]+\] (.*?)(?: => .*)?$/;

/** Matches the filter against addresses without secrets, so that what it finds does not tell what they are. */
async function listRequests(args: Record<string, unknown>, call: BrowserCall): Promise<CallToolResult> {
  const parsed = listArguments.safeParse(args);
  if (!parsed.success || parsed.data.filter === undefined) return call.ask(args);
  const { filter, ...rest } = parsed.data;
  const pattern = patternOf(filter);
  // Playwright MCP says in its words that a pattern is none.
  if (pattern === undefined) return call.ask(args);
  const all = await call.ask(rest);
  if (all.isError) return all;
  const lines = (await call.lease.conceal(textOf(all))).split('\n');
  const kept = lines.filter(line => {
    const address = LINE.exec(line)?.[1];
    return address === undefined || pattern.test(address);
  });
  return { ...all, ...textResult(kept.join('\n')) };
}

function patternOf(filter: string): RegExp | undefined {
  try {
    return new RegExp(filter);
  } catch {
    return undefined;
  }
}
