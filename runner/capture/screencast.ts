import type { BrowserContext, CDPSession, Page } from 'playwright-core';
import { alarm } from '../../http/alarm.ts';
import { type Clock, neverAborts } from '../../http/clock.ts';
import { PICTURE, type Picture } from './picture.ts';

export interface Screencast {
  /** Ends it. Does not wait for the browser, which may hang, or be gone. */
  stop(): void;
}

export interface ScreencastOptions {
  readonly context: BrowserContext;
  readonly page: Page;
  readonly onPicture: (picture: Picture) => void;
  readonly clock: Clock;
}

/** Smooth enough to follow what was done, at two thirds of the work of 25. */
const PICTURES_PER_SECOND = 15;
/**
 * With the five of Playwright's own screencast, a machine that cannot hold the rate fills the queue: pictures are then a
 * second old and actions take 4 to 15 times as long (measured; docs/adr/0033-one-capture-per-tab.md).
 */
const IN_FLIGHT = 2;

/** While a tab goes from one renderer to another, Chromium refuses: "Not attached to an active page". */
const STARTS_MAX = 20;
const START_AGAIN_MS = 100;
/** So long without a new picture, a tab seems to rest. */
const REST_MS = 150;

/**
 * Starts Chromium's screencast of a tab: its first picture comes at once, then one for each change. Rejects if it cannot.
 *
 * What a page paints while pictures are in flight Chromium drops for good, the last change before a page rests too. So once a tab
 * seems to rest its screencast is started again, which brings what the tab looks like then, until that is nothing new.
 */
export async function startScreencast(options: ScreencastOptions): Promise<Screencast> {
  const { context, page, onPicture, clock } = options;
  const session: CDPSession = await context.newCDPSession(page);
  const pace = acknowledgementPace(clock);
  const stopped = new AbortController();
  let shown: string | undefined;

  async function start(triesMax: number): Promise<void> {
    for (let tries = 1; ; tries++)
      try {
        await session.send('Page.startScreencast', {
          ...{ format: 'jpeg', quality: PICTURE.quality, maxWidth: PICTURE.width, maxHeight: PICTURE.height },
          maxFramesInFlight: IN_FLIGHT,
        });
        return;
      } catch (error) {
        if (page.isClosed() || tries === triesMax) throw error;
        await clock.sleep(START_AGAIN_MS, stopped.signal);
      }
  }

  async function lookAgain(): Promise<void> {
    await session.send('Page.stopScreencast');
    await start(Number.POSITIVE_INFINITY);
  }
  const rest = alarm(clock, () => void lookAgain().catch(() => undefined)); // the tab is closed, or it was stopped

  session.on('Page.screencastFrame', ({ data, metadata, sessionId }) => {
    pace()
      .then(() => session.send('Page.screencastFrameAck', { sessionId }))
      .catch(() => undefined); // the same
    if (data === shown) return;
    shown = data;
    rest.setAt(clock.nowMs() + REST_MS);
    onPicture({
      kind: 'screencast',
      jpeg: Buffer.from(data, 'base64'),
      atMs: metadata.timestamp === undefined ? Date.now() : metadata.timestamp * 1_000,
      cssWidth: metadata.deviceWidth,
      cssHeight: metadata.deviceHeight,
    });
  });
  await start(STARTS_MAX);
  return {
    stop() {
      stopped.abort();
      rest.clear();
      session.detach().catch(() => undefined);
    },
  };
}

/** Resolves when Chromium may send another picture: its rate is bounded by holding acknowledgements back. */
function acknowledgementPace(clock: Clock): () => Promise<void> {
  let nextMs = 0;
  return async () => {
    const now = clock.nowMs();
    nextMs = Math.max(now, nextMs + 1_000 / PICTURES_PER_SECOND);
    const waitMs = Math.min(nextMs - now, (IN_FLIGHT * 1_000) / PICTURES_PER_SECOND);
    if (waitMs > 1) await clock.sleep(waitMs, neverAborts());
  };
}
