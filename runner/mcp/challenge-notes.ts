import type { CallToolResult } from '@modelcontextprotocol/server';
import type { BrowserContext, Page } from 'playwright-core';
import { CODE_META } from '../../contract/tool-failure.ts';
import { showsChallenge } from '../tools/challenge.ts';
import { currentPage } from './tabs.ts';
import { upstreamTabOf } from './upstream-tab.ts';

export interface ChallengeNotesOptions {
  readonly context: BrowserContext;
  /** Of the page; secrets have to be taken out. */
  readonly onSeen: (url: string) => void;
}

const LOOK_MS = 1_000;

const NOTE =
  'The page asks for what only its person can give (a CAPTCHA, or a code). Call browser_request_user_action: nothing here works around it.';

/** What is to be said after a call of the page that it leaves: that it shows a challenge, once for each address of a tab (O20). */
export function challengeNotes({
  context,
  onSeen,
}: ChallengeNotesOptions): (done: CallToolResult) => Promise<string[]> {
  const told = new WeakMap<Page, string>();
  return async ({ _meta }) => {
    const page = await currentPage(context).catch(() => undefined);
    // Behind a dialog no page answers.
    if (page === undefined || upstreamTabOf(page).modalStates().length > 0) return [];
    const url = page.url();
    const [address = ''] = url.split('#');
    if (told.get(page) === address || !(await inTime(showsChallenge(page)))) return [];
    told.set(page, address);
    // browser_login says it in its own words, and its attempt is in the timeline.
    if (_meta?.[CODE_META] === 'captcha_or_mfa') return [];
    onSeen(url);
    return [NOTE];
  };
}

/** False where a page does not answer. */
async function inTime(looked: Promise<boolean>): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<false>();
  const timer = setTimeout(resolve, LOOK_MS, false);
  return Promise.race([looked, late]).finally(() => clearTimeout(timer));
}
