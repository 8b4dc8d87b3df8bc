import type { CallToolResult } from '@modelcontextprotocol/server';
import type { Page } from 'playwright-core';
import { CODE_META } from '../../../contract/tool-failure.ts';
import type { Challenge } from '../../settle/quiet-page.ts';

export interface ChallengeNotesOptions {
  /** The tab that the next call acts on; undefined: none can be looked at now. */
  readonly tab: () => Page | undefined;
  readonly challenge: (page: Page) => Promise<Challenge | undefined>;
  /** `url` is the page's; secrets have to be taken out. */
  readonly onSeen: (challenge: Challenge, url: string) => void;
}

const ASKED: Record<Challenge, string> = { captcha: 'to solve a CAPTCHA', code: 'for a one-time code' };
const noteOf = (challenge: Challenge): string =>
  `The page asks ${ASKED[challenge]}, which only its person can do: call browser_request_user_action. Nothing here works around it.`;

/** A note after a call that leaves a page that asks for its person (O20): once for each address of a tab. */
export function challengeNotes(options: ChallengeNotesOptions): (done: CallToolResult) => Promise<string[]> {
  const told = new WeakMap<Page, string>();
  return async ({ _meta }) => {
    const page = options.tab();
    const challenge = page && (await options.challenge(page));
    if (page === undefined || challenge === undefined) return [];
    const url = page.url();
    const [address] = url.split('#', 1);
    const seen = `${challenge} ${address}`;
    if (told.get(page) === seen) return [];
    told.set(page, seen);
    // browser_login says it in its own words, and its attempt is in the timeline.
    if (_meta?.[CODE_META] === 'captcha_or_mfa') return [];
    options.onSeen(challenge, url);
    return [noteOf(challenge)];
  };
}
