import type { BrowserContext, Page } from 'playwright-core';
import type { Clock } from '../../time/clock.ts';
import type { Pictures } from '../secrecy/pictures.ts';
import { frameMask } from './mask.ts';
import type { Pace, Watcher } from './picture.ts';
import { type TabCapture, tabCapture } from './tab-capture.ts';

/** The pictures of a lease's tabs, for the recording and for viewers: one capture a tab, while anything watches it. */
export interface Captures {
  /**
   * Shows the tab to the watcher from now on, beginning with its last picture if it is being captured already; at the pace of the watcher
   * that wants most. The returned function ends it. Rejects if the tab cannot be captured.
   */
  watch(page: Page, watcher: Watcher, pace: Pace): Promise<() => void>;
  /** Runs work of which no picture is shown; the one before stands still meanwhile. */
  withoutPictures<T>(work: () => Promise<T>): Promise<T>;
}

export interface CapturesOptions {
  readonly context: BrowserContext;
  /** Asked before a picture is shown. */
  readonly pictures: Pictures;
  readonly clock: Clock;
}

export function captureTabs({ context, pictures, clock }: CapturesOptions): Captures {
  const tabs = new WeakMap<Page, TabCapture>();
  const mask = frameMask(clock);
  return {
    watch(page, watcher, pace) {
      const tab = tabs.get(page) ?? tabCapture({ context, page, pictures, mask, clock });
      tabs.set(page, tab);
      return tab.watch(watcher, pace);
    },
    withoutPictures: mask.during,
  };
}
