import type { BrowserContext, CDPSession, Page } from 'playwright-core';
import { alarm } from '../../time/alarm.ts';
import { type Clock, neverAborts } from '../../time/clock.ts';
import { type Pace, PICTURE_QUALITY, PICTURE_SIZE, type Picture } from './picture.ts';

export interface Screencast {
  setPace(pace: Pace): void;
  /** Ends it. Does not wait for the browser, which may hang, or be gone. */
  stop(): void;
}

export interface ScreencastOptions {
  readonly context: BrowserContext;
  readonly page: Page;
  readonly pace: Pace;
  readonly onPicture: (picture: Picture) => void;
  readonly clock: Clock;
}

/** `live`: smooth enough to follow a hand, at two thirds of the work of 25. */
const PERIOD_MS: Readonly<Record<Pace, number>> = { live: 1_000 / 15, sparing: 1_000 / 5 };
/**
 * With the five of Playwright's own screencast, a machine that cannot hold the rate fills the queue: pictures are then a
 * second old and actions take 4 to 15 times as long (measured; docs/adr/0033-one-capture-per-tab.md).
 */
const IN_FLIGHT = 2;

/** While a tab goes from one renderer to another, Chromium refuses: "Not attached to an active page". */
const STARTS_MAX = 20;
const START_AGAIN_MS = 100;
/** This long without a new picture, a tab seems to rest. */
const REST_MS = 150;

/**
 * Starts Chromium's screencast of a tab: its first picture comes at once, then one for each change. Rejects if it cannot.
 *
 * Chromium copies every frame that a tab paints, and drops those that come while pictures are in flight for good, the last change
 * before the tab rests too. So it is stopped and started again, which brings what the tab looks like then, until that is nothing new:
 * once the tab seems to rest (`live`), or after each picture (`sparing`), until the next one may come.
 */
export async function startScreencast(options: ScreencastOptions): Promise<Screencast> {
  const { context, page, onPicture, clock } = options;
  const session: CDPSession = await context.newCDPSession(page);
  const acknowledged = acknowledgementPace(clock);
  const stopped = new AbortController();
  let { pace } = options;
  let shown: string | undefined;
  /** When it was started, until its first picture. */
  let startedMs: number | undefined;

  async function start(triesMax: number): Promise<void> {
    for (let tries = 1; ; tries++)
      try {
        startedMs = clock.nowMs();
        await session.send('Page.startScreencast', {
          format: 'jpeg',
          quality: PICTURE_QUALITY,
          maxWidth: PICTURE_SIZE[pace].width,
          maxHeight: PICTURE_SIZE[pace].height,
          maxFramesInFlight: IN_FLIGHT,
        });
        return;
      } catch (error) {
        if (page.isClosed() || tries === triesMax) throw error;
        await clock.sleep(START_AGAIN_MS, stopped.signal);
      }
  }

  const pause = () => session.send('Page.stopScreencast');
  async function lookAgain(): Promise<void> {
    await pause();
    await start(Number.POSITIVE_INFINITY);
  }
  const gone = () => undefined; // the tab is closed, or this was stopped
  const again = alarm(clock, () => void lookAgain().catch(gone));

  session.on('Page.screencastFrame', ({ data, metadata, sessionId }) => {
    const now = clock.nowMs();
    const tookMs = now - (startedMs ?? now);
    startedMs = undefined;
    acknowledged()
      .then(() => session.send('Page.screencastFrameAck', { sessionId }))
      .catch(gone);
    if (data === shown) return;
    shown = data;
    if (pace === 'live') again.setAt(now + REST_MS);
    else {
      pause().catch(gone);
      // After a picture that took long, the machine is left to others for as long.
      again.setAt(now + Math.max(PERIOD_MS.sparing - tookMs, tookMs));
    }
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
    setPace(wanted) {
      if (wanted === pace) return;
      pace = wanted;
      again.setAt(clock.nowMs()); // in its size
    },
    stop() {
      stopped.abort();
      again.clear();
      session.detach().catch(() => undefined);
    },
  };
}

/** Resolves when Chromium may send another picture: its rate is bounded by holding acknowledgements back. */
function acknowledgementPace(clock: Clock): () => Promise<void> {
  let nextMs = 0;
  return async () => {
    const now = clock.nowMs();
    nextMs = Math.max(now, nextMs + PERIOD_MS.live);
    const waitMs = Math.min(nextMs - now, IN_FLIGHT * PERIOD_MS.live);
    if (waitMs > 1) await clock.sleep(waitMs, neverAborts());
  };
}
