import type { CallToolResult } from '@modelcontextprotocol/server';
import type { Page } from 'playwright-core';
import * as z from 'zod';
import type { SnapshotWriter, Wanted } from '../snapshot/writer.ts';
import { invalidArguments, notOneElement } from '../tools/result.ts';
import { isRef, locate } from '../tools/target.ts';

/** Reads the page for a tool. */
export type Reading = (
  writer: SnapshotWriter,
  page: Page,
  view: Omit<Wanted, 'ref' | 'depth'>,
  signal: AbortSignal,
) => Promise<CallToolResult>;

const snapshotArguments = z.object({
  target: z.string().optional(),
  depth: z
    .number()
    .transform(levels => Math.max(1, Math.floor(levels)))
    .optional(),
  boxes: z.literal(false).optional(),
});
const findArguments = z.object({ text: z.string().min(1).optional(), regex: z.string().min(1).optional() });

/** What of Playwright MCP's tools our writer does; undefined: what it does not know, such as the places of elements. */
export function readingOf(name: string, args: Record<string, unknown>): Reading | undefined {
  if (name === 'browser_snapshot') {
    const parsed = snapshotArguments.safeParse(args);
    return parsed.success ? (...reading) => snapshot(parsed.data, ...reading) : undefined;
  }
  if (name !== 'browser_find') return undefined;
  const { data } = findArguments.safeParse(args);
  // With both or none, Playwright MCP says what is wrong.
  if (data === undefined || (data.text === undefined) === (data.regex === undefined)) return undefined;
  return async (writer, page, view, signal) => {
    const pattern = patternOf(data);
    return pattern === undefined
      ? invalidArguments(`"${data.regex}" is not a regular expression.`)
      : said(await writer.find(page, pattern, view, signal));
  };
}

async function snapshot(
  { target, depth }: z.infer<typeof snapshotArguments>,
  ...[writer, page, view, signal]: Parameters<Reading>
): Promise<CallToolResult> {
  const ref = target === undefined || isRef(target) ? target : await refOf(page, target, view.timeoutMs, signal);
  if (target !== undefined && ref === undefined) return notOneElement(target);
  const text = await writer.whole(page, { ...view, ref, depth }, signal);
  return text === undefined ? notOneElement(String(target)) : said(text);
}

const said = (text: string): CallToolResult => ({ content: [{ type: 'text', text }] });

const refs = z.array(z.looseObject({ ref: z.string() })).min(1);

async function refOf(page: Page, target: string, timeout: number, signal: AbortSignal): Promise<string | undefined> {
  const [root] = refs.parse(await locate(page, target).ariaSnapshotJSON({ mode: 'ai', depth: 1, timeout, signal }));
  return root?.ref;
}

/** What to look for: a text in any case, a pattern as it is, or one with flags between slashes. */
function patternOf({ text, regex = '' }: z.infer<typeof findArguments>): Pattern | undefined {
  if (text !== undefined) {
    const lower = text.toLowerCase();
    return { name: `"${text}"`, at: line => line.toLowerCase().indexOf(lower) };
  }
  try {
    const [, source, flags] = /^\/(.+)\/([a-z]*)$/s.exec(regex) ?? [];
    const compiled = new RegExp(source ?? regex, (flags ?? '').replace(/[gy]/g, ''));
    return { name: String(compiled), at: line => line.search(compiled) };
  } catch {
    return undefined;
  }
}

type Pattern = Parameters<SnapshotWriter['find']>[1];
