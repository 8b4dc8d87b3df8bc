import type { Page } from 'playwright-core';
import type { Clock } from '../../http/clock.ts';

/** Shows what a screencast does not: the open list of a select, and pickers of dates, times and colours. */
export interface Popups {
  /** A person has done something in the tab, which may have opened, changed or closed one. */
  acted(page: Page): void;
  close(): void;
}

export interface PopupsOptions {
  /** Whether the tab's focus is in a field that has a popup. */
  readonly hasPopup: (page: Page) => Promise<boolean>;
  /** Shows viewers a screenshot of the tab. */
  readonly shoot: (page: Page) => Promise<void>;
  readonly clock: Clock;
}

/** Chromium paints a popup somewhat later than it opens it: measured, 120 ms. */
const PAINTED_MS = 120;

/** At most one screenshot at a time; what is done meanwhile leads to one more. */
export function livePopups({ hasPopup, shoot, clock }: PopupsOptions): Popups {
  const closed = new AbortController();
  let wanted: Page | undefined;
  let running = false;
  let wasOpen = false;

  async function run(): Promise<void> {
    running = true;
    try {
      while (wanted !== undefined) {
        const page = wanted;
        wanted = undefined;
        await clock.sleep(PAINTED_MS, closed.signal, true);
        const isOpen = await hasPopup(page);
        // One more after it: a list that has closed changes nothing that a screencast would tell.
        if (isOpen || wasOpen) await shoot(page);
        wasOpen = isOpen;
      }
    } catch {
      // the tab is closed, or the live view is
    } finally {
      running = false;
    }
  }

  return {
    acted(page) {
      if (closed.signal.aborted) return;
      wanted = page;
      if (!running) void run();
    },
    close: () => closed.abort(),
  };
}
