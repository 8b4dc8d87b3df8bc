import { setTimeout as delay } from 'node:timers/promises';
import type { CallToolResult } from '@modelcontextprotocol/server';
import * as z from 'zod';
import { invalidArguments, textResult, timeoutResult } from '../results/result.ts';
import { defineTool } from './define-tool.ts';
import { type BrowserCall, onPage } from './playwright-form.ts';
import { showsSafeText, showsText } from './shown-text.ts';

const waitArguments = z.object({
  time: z.number().optional(),
  text: z.string().optional(),
  textGone: z.string().optional(),
});
type Wait = z.infer<typeof waitArguments>;

const TIME_SECONDS_MAX = 30;
const TEXT_SECONDS = 5;
const LOOK_AGAIN_MS = 100;

export const waitFor = defineTool({
  name: 'browser_wait_for',
  seconds: 45,
  effect: 'waits',
  whileTainted: 'open',
  shorter: null,
  playwright: {
    sets: ['playwright', 'core', 'both'],
    title: 'Wait for',
    description: 'Wait for a text, for its end, or some time',
    args: { time: 'Seconds, at most 30' },
    unlisted: [],
    settles: 'nothing',
    snapshotAfter: true,
    run: async (args, call) => (await waitForSafeText(args, call)) ?? waitAsAsked(args, call),
  },
});

const waitAsAsked = onPage(waitArguments.shape, (page, wait, signal) =>
  waitUntil(wait, text => showsText(page, text), signal),
);

/** Waits where a page may hold a secret. Undefined: none may, or the call waits for no text. */
async function waitForSafeText(args: Record<string, unknown>, call: BrowserCall): Promise<CallToolResult | undefined> {
  const { documents, conceal } = call.lease;
  const wait = waitArguments.safeParse(args).data;
  if (!documents.isGuarding() || wait === undefined || !(wait.text || wait.textGone)) return undefined;
  const waited = await call.onPage((page, signal) =>
    waitUntil(
      wait,
      text => showsSafeText(page, text, conceal),
      signal,
      'It was looked for on the page without secrets.',
    ),
  );
  return call.withSnapshot(waited);
}

/** Waits for the time first, then until the page `shows` the one text and not the other. `hint`: said where it does not come to that. */
async function waitUntil(
  { time, text, textGone }: Wait,
  shows: (text: string) => Promise<boolean>,
  signal: AbortSignal,
  ...hint: string[]
): Promise<CallToolResult> {
  if (!text && !textGone && !time) return invalidArguments('Either time, text or textGone must be provided.');
  const seconds = Math.min(time ?? 0, TIME_SECONDS_MAX);
  if (seconds > 0) await delay(seconds * 1_000, undefined, { signal });
  if (!text && !textGone) {
    const bound = seconds === time ? '' : ` (requested ${time}, maximum is ${TIME_SECONDS_MAX})`;
    return textResult(`Waited for ${seconds} seconds${bound}`);
  }
  const endMs = performance.now() + TEXT_SECONDS * 1_000;
  for (;;) {
    const isThere = Boolean(textGone) && (await shows(textGone ?? ''));
    const isMissing = !isThere && Boolean(text) && !(await shows(text ?? ''));
    if (!isThere && !isMissing) return textResult(`Waited for ${text || textGone}`);
    if (performance.now() > endMs) {
      const why = isThere ? `The page still shows ${quoted(textGone)}.` : `The page does not show ${quoted(text)}.`;
      return timeoutResult(waitFor.name, TEXT_SECONDS, why, ...hint);
    }
    await delay(LOOK_AGAIN_MS, undefined, { signal });
  }
}

/** A text as the agent gave it. */
const quoted = (text = ''): string => JSON.stringify(text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}…` : text);
const SHOWN_MAX = 200;
