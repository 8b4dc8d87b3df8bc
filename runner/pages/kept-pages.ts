import type { Page } from 'playwright-core';
import { CALL_PICTURES_MAX, type KeepPages } from '../../contract/page-names.ts';
import { alarm } from '../../time/alarm.ts';
import type { Clock } from '../../time/clock.ts';
import { isWithheld } from '../secrecy/pictures.ts';
import { type PageFilesOptions, pageFiles } from './page-files.ts';
import { type PageSecrecy, pictureOf, readPage } from './read-page.ts';

/** The picture after a call as the timeline has it: its artifact, or why there is none. */
export type CallPicture = { readonly picture: string } | { readonly picture_withheld: string };

/** Pages of a lease that are kept for after its end (A7, A14, S11). Nothing here rejects. */
export interface KeptPages {
  /** A call begins; the returned function ends it. Between calls the page is kept, so that a browser that crashes leaves its last one. */
  callStarted(): () => void;
  /** Keeps the current page now, since the call is about to close it. Only inside a turn. */
  beforeClosing(): Promise<void>;
  /** Keeps a picture of what a call left, where pictures of calls are kept. Only inside a turn. */
  afterCall(): Promise<CallPicture | undefined>;
  /** Keeps the page that is there at the end. After the last call. */
  close(): Promise<void>;
}

export interface KeptPagesOptions extends PageFilesOptions, PageSecrecy {
  readonly keep: KeepPages;
  /** The current tab; undefined where there is none, or a dialog, behind which no page answers. */
  readonly answeringTab: () => Page | undefined;
  /** The browser runs until the returned function was called. */
  readonly use: () => () => void;
  readonly clock: Clock;
  readonly onFailed: (error: unknown) => void;
}

/** Without a call, after which the page is kept: an agent that acts on and on is not slowed down. Less than any time to freeze. */
const IDLE_MS = 500;

const NO_ANSWER: CallPicture = { picture_withheld: 'the page did not answer' };

const NOTHING_KEPT: KeptPages = {
  callStarted: () => () => undefined,
  beforeClosing: async () => undefined,
  afterCall: async () => undefined,
  close: async () => undefined,
};

export function keptPages(options: KeptPagesOptions): KeptPages {
  const { keep, answeringTab, use, clock, onFailed } = options;
  if (keep === 'none') return NOTHING_KEPT;
  const files = pageFiles(options);
  let running = 0;
  let begun = 0;
  let pictures = 0;
  let closed = false;
  /** One after the other: they write the same files. */
  let written: Promise<void> = Promise.resolve();

  /** `isSame`: what was read is of one moment, in which no call could fill a secret in. */
  function keepLast(isSame: () => boolean): Promise<void> {
    written = written
      .then(async () => {
        const page = answeringTab();
        if (page === undefined || page.url() === 'about:blank' || !isSame()) return;
        const content = await readPage(page, options);
        if (content !== undefined && isSame()) await files.keepLast(content);
      })
      .catch(onFailed);
    return written;
  }

  async function keepIdle(): Promise<void> {
    if (running > 0) return; // the end of the last call sets the alarm again
    const at = begun;
    const unused = use();
    await keepLast(() => running === 0 && begun === at);
    unused();
  }
  const idle = alarm(clock, () => void keepIdle());

  return {
    callStarted() {
      running += 1;
      begun += 1;
      return () => {
        running -= 1;
        if (running === 0 && !closed) idle.setAt(clock.nowMs() + IDLE_MS);
      };
    },
    beforeClosing: () => keepLast(() => true),
    async afterCall() {
      if (keep !== 'calls' || pictures >= CALL_PICTURES_MAX) return undefined;
      const page = answeringTab();
      if (page === undefined) return NO_ANSWER;
      pictures += 1;
      try {
        const picture = await pictureOf(page, options);
        if (isWithheld(picture)) return { picture_withheld: picture.withheld };
        return { picture: await files.keepPicture(pictures, picture) };
      } catch (error) {
        onFailed(error);
        return NO_ANSWER;
      }
    },
    async close() {
      closed = true;
      idle.clear();
      await keepLast(() => true);
    },
  };
}
