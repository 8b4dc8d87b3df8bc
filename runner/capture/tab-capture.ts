import type { BrowserContext, Page } from 'playwright-core';
import type { Clock } from '../../time/clock.ts';
import { VIEWPORT } from '../browser/context-options.ts';
import { captureVisible } from '../browser/visible-picture.ts';
import type { Pictures } from '../secrecy/pictures.ts';
import { guardedFrames } from './guarded-frames.ts';
import { type FrameMask, maskedFrames } from './mask.ts';
import type { Pace, Picture, Watcher } from './picture.ts';
import { startScreencast } from './screencast.ts';

/** The one capture of a tab. */
export interface TabCapture {
  /** As `Captures.watch`. */
  watch(watcher: Watcher, pace: Pace): Promise<() => void>;
}

export interface TabCaptureOptions {
  readonly context: BrowserContext;
  readonly page: Page;
  readonly pictures: Pictures;
  readonly mask: FrameMask;
  readonly clock: Clock;
}

const SCREENSHOT_MS = 5_000;

/** Captures a tab while it has a watcher. */
export function tabCapture(options: TabCaptureOptions): TabCapture {
  const watchers = new Map<Watcher, Pace>();
  let capture: Capture | undefined;
  let last: Picture | undefined;
  let adjusting: Promise<void> = Promise.resolve();

  const show = (picture: Picture) => {
    last = picture;
    for (const watcher of watchers.keys()) watcher(picture);
  };

  async function adjustNow(): Promise<void> {
    if (watchers.size === 0) return end();
    const pace = [...watchers.values()].includes('live') ? 'live' : 'sparing';
    capture ??= await startCapture(options, pace, show);
    capture.setPace(pace);
  }

  function end(): void {
    capture?.end();
    capture = undefined;
    last = undefined;
  }

  /** One after the other: two screencasts of a tab would both be paid for. */
  function adjust(): Promise<void> {
    const adjusted = adjusting.then(adjustNow);
    adjusting = adjusted.catch(() => undefined);
    return adjusted;
  }

  return {
    async watch(watcher, pace) {
      watchers.set(watcher, pace);
      if (last !== undefined) watcher(last);
      await adjust().catch((error: unknown) => {
        watchers.delete(watcher);
        throw error;
      });
      return () => {
        if (watchers.size === 1 && watchers.has(watcher)) end(); // it is shown what waits
        if (watchers.delete(watcher)) void adjust().catch(() => undefined);
      };
    },
  };
}

interface Capture {
  setPace(pace: Pace): void;
  end(): void;
}

/** No picture leaves but through the guard and the mask. */
async function startCapture(
  { context, page, pictures, mask, clock }: TabCaptureOptions,
  pace: Pace,
  show: (picture: Picture) => void,
): Promise<Capture> {
  let ended = false;
  const masked = maskedFrames(show, mask, clock);
  const guarded = guardedFrames({ page, pictures, show: masked.add, shoot: () => screenshot(page), clock });
  function add(picture: Picture): void {
    if (ended) return;
    if (pictures.isGuarding()) guarded.add(picture);
    else masked.add(picture);
  }
  const screencast = await startScreencast({ context, page, pace, clock, onPicture: add });
  return {
    setPace: screencast.setPace,
    end() {
      if (ended) return;
      ended = true;
      guarded.end();
      masked.end();
      screencast.stop();
    },
  };
}

/** A picture of the tab as it is painted. */
async function screenshot(page: Page): Promise<Picture> {
  const { width, height } = page.viewportSize() ?? VIEWPORT;
  const atMs = Date.now();
  const jpeg = await captureVisible(page, 'jpeg', SCREENSHOT_MS);
  return { kind: 'screenshot', jpeg, atMs, cssWidth: width, cssHeight: height };
}
