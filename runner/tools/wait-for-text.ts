import { setTimeout as delay } from 'node:timers/promises';
import type { CallToolResult } from '@modelcontextprotocol/server';
import type { Page } from 'playwright-core';
import * as z from 'zod';
import type { Conceal } from '../budget/cut.ts';
import { timedOut } from './result.ts';

/** Arguments of Playwright MCP's `browser_wait_for`. */
const waitArguments = z.object({
  time: z.number().min(0).optional(),
  text: z.string().optional(),
  textGone: z.string().optional(),
});

const TIME_SECONDS_MAX = 30;
const TEXT_SECONDS = 5;
const LOOK_AGAIN_MS = 200;

/** Whether a call waits for a text of the page. */
export const waitsForText = (args: Readonly<Record<string, unknown>>): boolean => Boolean(args.text ?? args.textGone);

/**
 * Playwright MCP's `browser_wait_for`, on the page's text without secrets: so that no answer, nor its time, tells what
 * they are.
 */
export async function waitForText(
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
      return timedOut('browser_wait_for', TEXT_SECONDS, 'The text was waited for on the page without secrets.');
    await delay(LOOK_AGAIN_MS, undefined, { signal });
  }
  return { content: [{ type: 'text', text: `Waited for ${text ?? textGone}` }] };
}

/** Runs in the page. */
const SHOWN = 'document.body?.innerText ?? ""';

/** As Playwright compares texts. */
const folded = (text: string): string => text.replace(/\s+/g, ' ').trim().toLowerCase();
