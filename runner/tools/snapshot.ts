import type { CallToolResult } from '@modelcontextprotocol/server';
import type { Page } from 'playwright-core';
import * as z from 'zod';
import { isRef, locate } from '../acting/target.ts';
import { notOneElement, textResult } from '../results/result.ts';
import { defineTool } from './define-tool.ts';
import { byWriter, type Reading } from './playwright-form.ts';

const snapshotArguments = z.object({
  target: z.string().optional(),
  depth: z
    .number()
    .transform(levels => Math.max(1, Math.floor(levels)))
    .optional(),
  from: z
    .number()
    .transform(line => Math.max(1, Math.floor(line)))
    .optional(),
  // The writer knows no places of elements.
  boxes: z.literal(false).optional(),
});

export const snapshot = defineTool({
  name: 'browser_snapshot',
  seconds: 20,
  effect: 'reads',
  whileTainted: {
    refusedArgument: ({ boxes }) => (boxes === true ? 'the places of its letters are not told' : undefined),
  },
  shorter: null,
  playwright: {
    sets: ['playwright', 'core', 'both'],
    title: 'Page snapshot',
    description: 'The page as a tree with refs for other tools',
    args: { target: 'Only this' },
    unlisted: ['boxes'],
    added: { from: 'number' },
    settles: 'nothing',
    snapshotAfter: false,
    run: byWriter(args => {
      const parsed = snapshotArguments.safeParse(args);
      return parsed.success ? (...reading) => readPage(parsed.data, ...reading) : undefined;
    }),
  },
});

async function readPage(
  { target, depth, from }: z.infer<typeof snapshotArguments>,
  ...[writer, page, view, signal]: Parameters<Reading>
): Promise<CallToolResult> {
  const ref = target === undefined || isRef(target) ? target : await refOf(page, target, view.timeoutMs, signal);
  if (target !== undefined && ref === undefined) return notOneElement(target);
  const text = await writer.whole(page, { ...view, ref, depth, from }, signal);
  return text === undefined ? notOneElement(String(target)) : textResult(text);
}

const refs = z.array(z.looseObject({ ref: z.string() }));

async function refOf(page: Page, target: string, timeout: number, signal: AbortSignal): Promise<string | undefined> {
  const element = locate(page, target);
  if ((await element.count()) === 0) return undefined; // rejects what is no selector
  const [root] = refs.parse(await element.ariaSnapshotJSON({ mode: 'ai', depth: 1, timeout, signal }));
  return root?.ref;
}
