import type { CallToolResult } from '@modelcontextprotocol/server';
import type { Page } from 'playwright-core';
import { type PageGuard, TABS_MAX } from '../browser/page-guard.ts';
import { failure, textOf } from '../results/result.ts';
import type { PlaywrightConnection } from '../upstream/connection.ts';
import { closeFileChoosers } from '../upstream/file-choosers.ts';
import { answerDialog } from '../upstream/requests.ts';

interface Leaving {
  /** The page on which the next tool acts. */
  readonly current: () => Promise<Page>;
  readonly guard: PageGuard;
  readonly connection: PlaywrightConnection;
  readonly signal: AbortSignal;
}

/** A page and all tabs that it opened share a process: when that ends, each of them is gone. */
const TABS_TRIED = TABS_MAX + 2;
const DIALOGS_ANSWERED = 3;
const KEPT_ASKING = 'it opened one dialog after the other';

/**
 * Leaves the current page by what `leave` does. Dialogs are dismissed, except the one that asks whether to leave; a tab
 * that opens one after the other is closed. If the tab goes away meanwhile, the next one is left instead.
 */
export async function leavePage(leaving: Leaving, leave: () => Promise<CallToolResult>): Promise<CallToolResult> {
  const { current, guard } = leaving;
  for (let n = 1; n < TABS_TRIED; n += 1) {
    const page = await current();
    const asked = guard.showsDialog(page);
    if (asked) await answerDialogs(page, leaving);
    const left = await leave().catch(lost);
    if (asked && guard.showsDialog(page)) await guard.close(page, KEPT_ASKING);
    else if (!left.isError || !TAB_GONE.test(textOf(left))) return left;
    // A tab whose process ended before it was known here is closed by no event.
    else await guard.close(page);
    await guard.settled();
  }
  return leave();
}

const TAB_GONE = /Target crashed|Page crashed|Target page, context or browser has been closed/;

/** The failure as a result, where the tab went away; else it is thrown. */
function lost(error: unknown): CallToolResult {
  if (error instanceof Error && TAB_GONE.test(error.message)) return failure(error.message);
  throw error;
}

async function answerDialogs(page: Page, { guard, connection, signal }: Leaving): Promise<void> {
  closeFileChoosers(page);
  for (let n = 0; n < DIALOGS_ANSWERED && guard.showsDialog(page); n += 1) {
    const accept = guard.asksToLeave(page);
    await answerDialog(connection, accept, signal).catch(() => undefined);
  }
  if (guard.showsDialog(page)) await guard.close(page, KEPT_ASKING);
}
