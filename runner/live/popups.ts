import type { Page } from 'playwright-core';
import type { Clock } from '../../http/clock.ts';

/** Shows what a screencast does not: the open list of a select, and pickers of dates, times and colours. */
export interface Popups {
  /** The person in control has done something in the tab, which may have opened, changed or closed one. */
  acted(page: Page): void;
  /** Whether a picture of the tab's screencast is not to be shown: it lacks the popup, and a screenshot comes in its place. */
  replaces(page: Page): boolean;
  /** No person is in control any more. */
  end(): void;
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
/** A screenshot makes Chromium paint the tab, which the screencast then sends: no reason for another one. */
const OWN_FRAME_MS = 400;

/** At most one screenshot at a time; what is done meanwhile leads to one more. */
export function livePopups({ hasPopup, shoot, clock }: PopupsOptions): Popups {
  const closed = new AbortController();
  let wanted: Page | undefined;
  let running = false;
  /** The tab whose focus was in such a field at the last look. */
  let open: Page | undefined;
  let shotMs = Number.NEGATIVE_INFINITY;

  async function run(): Promise<void> {
    running = true;
    try {
      while (wanted !== undefined) {
        const page = wanted;
        wanted = undefined;
        await clock.sleep(PAINTED_MS, closed.signal, true);
        const before = open;
        open = (await hasPopup(page)) ? page : undefined;
        if (open === undefined && before === undefined) continue;
        // The last one shows the tab without it: that changed nothing which a screencast would tell.
        await shoot(page);
        shotMs = clock.nowMs();
      }
    } catch {
      open = undefined; // the tab is closed, or the live view is
    } finally {
      running = false;
    }
  }

  function acted(page: Page): void {
    if (closed.signal.aborted) return;
    wanted = page;
    if (!running) void run();
  }

  return {
    acted,
    replaces(page) {
      if (page !== open) return false;
      if (clock.nowMs() - shotMs > OWN_FRAME_MS) acted(page);
      return true;
    },
    end() {
      open = undefined;
    },
    close: () => closed.abort(),
  };
}
