import type { BrowserContext, CDPSession, Page } from 'playwright-core';
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

/** Starts Chromium's screencast of a tab: its first picture comes at once, then one for each change. Rejects if it cannot. */
export async function startScreencast(options: ScreencastOptions): Promise<Screencast> {
  const { context, page, onPicture, clock } = options;
  const session: CDPSession = await context.newCDPSession(page);
  const pace = acknowledgementPace(clock);
  session.on('Page.screencastFrame', ({ data, metadata, sessionId }) => {
    onPicture({
      kind: 'screencast',
      jpeg: Buffer.from(data, 'base64'),
      atMs: metadata.timestamp === undefined ? Date.now() : metadata.timestamp * 1_000,
      cssWidth: metadata.deviceWidth,
      cssHeight: metadata.deviceHeight,
    });
    pace()
      .then(() => session.send('Page.screencastFrameAck', { sessionId }))
      .catch(() => undefined); // the tab is closed, or it was stopped
  });
  await start(session, page, clock);
  return { stop: () => void session.detach().catch(() => undefined) };
}

/** While a tab goes from one renderer to another, Chromium refuses: "Not attached to an active page". */
const STARTS_MAX = 20;
const START_AGAIN_MS = 100;

async function start(session: CDPSession, page: Page, clock: Clock): Promise<void> {
  for (let starts = 1; ; starts++)
    try {
      await session.send('Page.startScreencast', {
        ...{ format: 'jpeg', quality: PICTURE.quality, maxWidth: PICTURE.width, maxHeight: PICTURE.height },
        maxFramesInFlight: IN_FLIGHT,
      });
      return;
    } catch (error) {
      if (page.isClosed() || starts === STARTS_MAX) throw error;
      await clock.sleep(START_AGAIN_MS, neverAborts());
    }
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
