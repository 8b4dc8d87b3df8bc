import type { CallToolResult } from '@modelcontextprotocol/server';
import * as z from 'zod';
import type { Conceal } from '../budget/cut.ts';
import { textOf } from '../tools/result.ts';

const listArguments = z.looseObject({ filter: z.string().optional() });

/** A line of Playwright MCP's list: `3. [GET] https://shop.example/a => [200] OK`. */
const LINE = /^\d+\. \[[A-Z]+\] (.*?)(?: => .*)?$/;

/**
 * Playwright MCP's `browser_network_requests`, its filter matched against addresses without secrets: so that what it
 * finds does not tell what they are. `list` calls the tool.
 */
export async function filteredRequests(
  args: Readonly<Record<string, unknown>>,
  list: (args: Record<string, unknown>) => Promise<CallToolResult>,
  conceal: Conceal,
): Promise<CallToolResult> {
  const parsed = listArguments.safeParse(args);
  if (!parsed.success || parsed.data.filter === undefined) return list({ ...args });
  const { filter, ...rest } = parsed.data;
  const pattern = patternOf(filter);
  // Its own words for a pattern that is none.
  if (pattern === undefined) return list({ ...args });
  const all = await list(rest);
  if (all.isError) return all;
  const lines = (await conceal(textOf(all))).split('\n');
  const kept = lines.filter(line => {
    const address = LINE.exec(line)?.[1];
    return address === undefined || pattern.test(address);
  });
  return { ...all, content: [{ type: 'text', text: kept.join('\n') }] };
}

function patternOf(filter: string): RegExp | undefined {
  try {
    return new RegExp(filter);
  } catch {
    return undefined;
  }
}
