import { setTimeout as delay } from 'node:timers/promises';
import type { CallToolResult } from '@modelcontextprotocol/server';
import type { Page } from 'playwright-core';
import * as z from 'zod';
import type { Conceal } from '../budget/cut.ts';
import { invalidArguments, textResult, timeoutResult } from '../results/result.ts';
import { foldText } from '../snapshot/fold-text.ts';
import { defineTool } from './define-tool.ts';
import { ACTION, type BrowserCall, onPage } from './playwright-form.ts';

const waitArguments = z.object({
  time: z.number().optional(),
  text: z.string().optional(),
  textGone: z.string().optional(),
});

const TIME_SECONDS_MAX = 30;
const TEXT_SECONDS = 5;
const LOOK_AGAIN_MS = 200;

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

const waitAsAsked = onPage(waitArguments.shape, waitOnPage);

/** Waits where a page may hold a secret. Undefined: none may, or the call waits for no text. */
async function waitForSafeText(args: Record<string, unknown>, call: BrowserCall): Promise<CallToolResult | undefined> {
  const { documents, conceal } = call.lease;
  if (!documents.isGuarding() || !(args.text ?? args.textGone)) return undefined;
  return call.withSnapshot(await call.onPage((page, signal) => waitForText(page, args, conceal, signal)));
}

/**
 * Waits for the page's text without secrets: so that no answer, nor its time, tells what
 * they are.
 */
async function waitForText(
  page: Page,
  args: Readonly<Record<string, unknown>>,
  conceal: Conceal,
  signal: AbortSignal,
): Promise<CallToolResult> {
  const { time, text, textGone } = waitArguments.parse(args);
  if (time !== undefined) await delay(Math.min(time, TIME_SECONDS_MAX) * 1_000, undefined, { signal });
  const shows = async (wanted: string): Promise<boolean> =>
    folded(await conceal(String(await page.evaluate(SHOWN)))).includes(folded(wanted));
  const answered = async () =>
    (textGone === undefined || !(await shows(textGone))) && (text === undefined || (await shows(text)));
  const endMs = performance.now() + TEXT_SECONDS * 1_000;
  while (!(await answered())) {
    if (performance.now() > endMs)
      return timeoutResult(waitFor.name, TEXT_SECONDS, 'The text was waited for on the page without secrets.');
    await delay(LOOK_AGAIN_MS, undefined, { signal });
  }
  return textResult(`Waited for ${text ?? textGone}`);
}

/** Runs in the page. */
const SHOWN = 'document.body?.innerText ?? ""';

/** As `browser_find` compares texts; what would be nothing is compared as it is. */
const folded = (text: string): string => foldText(text).trim().toLowerCase() || text;

/** Another element with the text may be hidden. */
const visibleText = (page: Page, text: string) => page.getByText(text).filter({ visible: true }).first();

/** Resolves when an element with the text is visible, or the page shows it in other letters or across elements. Rejects as Playwright does. */
async function untilShown(page: Page, text: string, signal: AbortSignal): Promise<void> {
  const done = new AbortController();
  const either = AbortSignal.any([signal, done.signal]);
  const alike = async (): Promise<void> => {
    while (!(await showsAlike(page, text))) await delay(LOOK_AGAIN_MS, undefined, { signal: either });
  };
  try {
    const never = new Promise<never>(() => undefined);
    await Promise.race([visibleText(page, text).waitFor({ state: 'visible', ...ACTION }), alike().catch(() => never)]);
  } finally {
    done.abort();
  }
}

async function showsAlike(page: Page, text: string): Promise<boolean> {
  const texts = page.frames().map(frame => frame.evaluate(SHOWN).catch(() => ''));
  return (await Promise.all(texts)).some(shown => folded(String(shown)).includes(folded(text)));
}

type Wait = z.infer<typeof waitArguments>;

async function waitOnPage(
  page: Page,
  { time, text: wanted, textGone }: Wait,
  signal: AbortSignal,
): Promise<CallToolResult> {
  if (!wanted && !textGone && !time) return invalidArguments('Either time, text or textGone must be provided.');
  const seconds = Math.min(time ?? 0, TIME_SECONDS_MAX);
  if (seconds > 0) await delay(seconds * 1_000, undefined, { signal });
  if (textGone) await visibleText(page, textGone).waitFor({ state: 'hidden', ...ACTION });
  if (wanted) await untilShown(page, wanted, signal);
  if (wanted || textGone) return textResult(`Waited for ${wanted || textGone}`);
  const bound = seconds === time ? '' : ` (requested ${time}, maximum is ${TIME_SECONDS_MAX})`;
  return textResult(`Waited for ${seconds} seconds${bound}`);
}
