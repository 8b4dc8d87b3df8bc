import { once } from 'node:events';
import { SdkError, SdkErrorCode } from '@modelcontextprotocol/client';
import type { CallToolResult } from '@modelcontextprotocol/server';
import type { Page } from 'playwright-core';
import { actionTimeout, type ToolCode } from '../../contract/tool-codes.ts';
import { CODE_META, refusalResult } from '../../contract/tool-failure.ts';
import type { RunnerBrowser } from '../browser/browser.ts';
import { describeDialog, type OpenDialog } from '../browser/dialogs.ts';
import type { PageGuard } from '../browser/page-guard.ts';
import { errorLines } from '../browser/page-text.ts';
import { recoverPages } from '../browser/recover-page.ts';
import { isOfScript, obstacleIn, refusalIn, wordsOfScript } from '../results/failure-signs.ts';
import { failure, failureResult, textOf, timeoutResult } from '../results/result.ts';

export const CANCELLED = refusalResult({
  code: 'call_cancelled',
  why: 'The call was cancelled.',
  instead: 'Look at the page before you repeat it: what it began may have happened.',
});

const crashed = (why: string | undefined): CallToolResult =>
  refusalResult({
    code: 'browser_crashed',
    why: `The browser of this lease ${why === undefined ? 'crashed' : `was ended: ${why}`}.`,
    instead: 'Do not retry here: ask for the session again and connect to the new address.',
  });

/** Resolves when the result of work is no longer awaited. */
export const untilAborted = (signal: AbortSignal): Promise<undefined> =>
  signal.aborted ? Promise.resolve(undefined) : once(signal, 'abort').then(() => undefined);

const DIALOG_OPEN = {
  code: 'dialog_open',
  why: 'A dialog is open on the page.',
  instead: 'Answer it with browser_handle_dialog.',
} as const;

/** The result of work on a page that a dialog holds. */
export const dialogOpen = (held: OpenDialog, page: Page): CallToolResult =>
  refusalResult(
    held.page === page
      ? DIALOG_OPEN
      : { ...DIALOG_OPEN, why: `This tab waits for a dialog. ${describeDialog(held, page.context().pages())}` },
  );

/** The limits of every call: its time, its cancelling, and the life of the browser. */
export interface Bounds {
  /** Runs work on the browser; every way in which it may fail is a result. */
  bounded(
    name: string,
    seconds: number,
    signal: AbortSignal,
    work: () => Promise<CallToolResult>,
  ): Promise<CallToolResult>;
  /** Names a time-out of Playwright's, or the browser's crash, in the form of our own results. Quotes no element once a secret was filled in. */
  explained(name: string, result: CallToolResult): CallToolResult;
}

/** `isGuarding`: whether a page may hold a secret. */
export function callBounds(browser: RunnerBrowser, guard: PageGuard, isGuarding: () => boolean): Bounds {
  function explained(name: string, given: CallToolResult): CallToolResult {
    if (browser.isGone()) return crashed(browser.whyEnded());
    const result = isGuarding() ? withoutElements(given) : given;
    const text = textOf(result);
    const timeout = isOfScript(text) ? null : /Timeout (\d+)ms exceeded/.exec(text);
    if (timeout === null) {
      const refusal = text.startsWith('{') ? undefined : refusalIn(text);
      if (refusal !== undefined) return refusalResult(refusal);
      return withCode(isOfScript(text) ? failure(wordsOfScript(text)) : result);
    }
    const seconds = Number(timeout[1]) / 1_000;
    const obstacle = obstacleIn(text);
    return obstacle === undefined
      ? timeoutResult(name, seconds, `It was not done within ${seconds} s.`)
      : failureResult(actionTimeout(name, seconds), obstacle.why, obstacle.instead);
  }
  return {
    explained,
    async bounded(name, seconds, signal, work) {
      if (browser.isGone()) return crashed(browser.whyEnded());
      try {
        const worked = guard.settled().then(work);
        return await Promise.race([worked, browser.gone.then(() => crashed(browser.whyEnded()))]);
      } catch (error) {
        if (browser.isGone()) return crashed(browser.whyEnded());
        if (signal.aborted) return CANCELLED;
        if (isTimeout(error)) {
          const notes = await recoverPages(browser.context, guard);
          return timeoutResult(name, seconds, 'The call was given up; the next one is served.', ...notes);
        }
        return withErrorLines(explained(name, failure(error instanceof Error ? error.message : 'The call failed.')));
      }
    },
  };
}

/** A failure in its own words, such as an error of a script: programs decide by a code all the same. */
const withCode = (result: CallToolResult): CallToolResult =>
  result.isError !== true || result._meta?.[CODE_META] !== undefined
    ? result
    : { ...result, _meta: { ...result._meta, [CODE_META]: 'action_failed' satisfies ToolCode } };

/** A failure as Playwright words it may quote what a page threw. */
const withErrorLines = (result: CallToolResult): CallToolResult => ({
  ...result,
  content: result.content.map(part =>
    part.type === 'text' && !part.text.startsWith('{') ? { ...part, text: errorLines(part.text) } : part,
  ),
});

interface WorkBounds {
  readonly seconds: number;
  readonly signal: AbortSignal;
  /** The result of work that a dialog interrupts. */
  readonly interrupted?: (held: OpenDialog, page: Page) => CallToolResult;
}

/**
 * Runs work on a page until it ends, is cancelled, or a dialog opens, in this or another tab, which it would wait for. Rejects as Playwright
 * MCP does when the time is over. The signal that `work` is given aborts when its result is no longer awaited.
 */
export async function workOnPage(
  page: Page,
  guard: PageGuard,
  { seconds, signal, interrupted = dialogOpen }: WorkBounds,
  work: (page: Page, signal: AbortSignal) => Promise<CallToolResult>,
): Promise<CallToolResult> {
  const abort = new AbortController();
  const { promise: stopped, resolve: end, reject: giveUp } = Promise.withResolvers<CallToolResult>();
  const onAbort = () => end(CANCELLED);
  const onDialog = async () => {
    const held = await guard.dialogs.holding(page);
    if (held !== undefined) end(interrupted(held, page));
  };
  const late = setTimeout(() => giveUp(new SdkError(SdkErrorCode.RequestTimeout, 'late')), seconds * 1_000);
  stopped.catch(() => undefined);
  signal.addEventListener('abort', onAbort, { once: true });
  page.context().on('dialog', onDialog);
  try {
    const held = await guard.dialogs.holding(page);
    if (held !== undefined) return dialogOpen(held, page);
    const worked = work(page, abort.signal);
    worked.catch(() => undefined);
    return await Promise.race([worked, stopped]);
  } finally {
    clearTimeout(late);
    signal.removeEventListener('abort', onAbort);
    page.context().off('dialog', onDialog);
    abort.abort(OVER);
  }
}

/** Made once: an exception's stack takes longer than what it is thrown for. */
const OVER = new DOMException('The call is over.', 'AbortError');

const isTimeout = (error: unknown): boolean => error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout;

/**
 * A failure without the elements that Playwright quotes, in its lists of what matches and in its call log: of a secret that a page shows in
 * pieces, one piece alone is not found.
 */
const withoutElements = (result: CallToolResult): CallToolResult => ({
  ...result,
  content: result.content.map(part =>
    part.type === 'text' ? { ...part, text: part.text.replace(QUOTED, '<element>').replace(NAMED, '') } : part,
  ),
});

/** On one line each, whatever their text is. */
const QUOTED = /<[a-z][^\n]*>(?: subtree)?/gi;
const NAMED = / aka [^\n]*/g;
