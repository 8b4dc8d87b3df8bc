import type { CallToolResult } from '@modelcontextprotocol/server';
import * as z from 'zod';
import { bareText, oneLineAddress } from '../browser/page-text.ts';
import { invalidArguments, textOf, textResult } from '../results/result.ts';
import { regexOf } from '../snapshot/find.ts';
import { defineTool } from './define-tool.ts';
import { NO_REGEX, patternResult } from './pattern-result.ts';
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

/** A line of Playwright MCP's list: `3. [GET] https://shop.example/a => [200] OK`, in which the site words what follows the status. */
const LINE = /^(\d+\. \[[^\]]+\] )(.*?)(?:( => \[\w+\])(.*))?$/s;

/** The list, with nothing of a site's that reads as a mark of the product's. */
function inOwnWords(listed: CallToolResult): CallToolResult {
  const plain = (line: string): string =>
    line.replace(LINE, (_all, start: string, address: string, status = '', words = '') =>
      [start, oneLineAddress(address), status, words === '' ? '' : ` ${bareText(words)}`].join(''),
    );
  const content = listed.content.map(part =>
    part.type === 'text' ? { ...part, text: part.text.split('\n').map(plain).join('\n') } : part,
  );
  return { ...listed, content };
}

/** Matches the filter against addresses without secrets, so that what it finds does not say what they are. */
async function listRequests(args: Record<string, unknown>, call: BrowserCall): Promise<CallToolResult> {
  const parsed = listArguments.safeParse(args);
  if (!parsed.success || parsed.data.filter === undefined) return inOwnWords(await call.ask(args));
  const { filter, ...rest } = parsed.data;
  const pattern = regexOf(filter);
  if (pattern === undefined) return invalidArguments(NO_REGEX);
  const all = inOwnWords(await call.ask(rest));
  if (all.isError) return all;
  const lines = (await call.lease.conceal(textOf(all))).split('\n');
  const addresses = lines.map(line => LINE.exec(line)?.[2]);
  return patternResult(async () => {
    const found = await call.matches(
      addresses.map(address => address ?? ''),
      pattern,
    );
    const kept = lines.filter((_line, index) => addresses[index] === undefined || found[index] === true);
    return { ...all, ...textResult(kept.join('\n')) };
  });
}
