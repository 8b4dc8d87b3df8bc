import type { Clock } from '../../time/clock.ts';

export interface RunnerMemoryOptions {
  /** Memory of this process: the objects of its heap and the buffers beside it. */
  readonly heldBytes: () => number;
  readonly collectGarbage: () => void;
  readonly limitBytes: number;
  readonly clock: Clock;
  /** Ends the watch. */
  readonly signal: AbortSignal;
  /** When a tab was closed last, for whatever it did; `-Infinity`: none was. */
  readonly closedMs: () => number;
  /** Closes the tab that has sent the most. */
  readonly stopLoudest: (why: string) => void;
  /** Ends the browser, and the lease with it. */
  readonly endBrowser: (why: string) => void;
}

const MIB = 1024 * 1024;
const LOOK_MS = 250;
/** Below this share of the limit nothing is stopped, or garbage would have to be collected all the time. */
const KEPT_SHARE = 0.8;
/** Playwright's memory of a closed tab is free after this. */
const FREED_MS = 5_000;
const PATIENCE_MS = 15_000;

/**
 * Watches the memory of this process: Playwright keeps requests, lines of consoles and answers of every tab.
 * Resolves when the signal aborts; never rejects.
 */
export async function watchRunnerMemory(options: RunnerMemoryOptions): Promise<void> {
  const { heldBytes, collectGarbage, limitBytes, clock, signal, closedMs, stopLoudest, endBrowser } = options;
  let tooMuchSinceMs: number | undefined;
  while (!signal.aborted) {
    await clock.sleep(LOOK_MS, signal, true).catch(() => undefined);
    if (signal.aborted) return;
    if (heldBytes() <= limitBytes) {
      tooMuchSinceMs = undefined;
      continue;
    }
    collectGarbage();
    const held = heldBytes();
    if (held <= limitBytes * KEPT_SHARE) continue;
    const now = clock.nowMs();
    tooMuchSinceMs ??= now;
    const why = `it made the runner take ${Math.round(held / MIB)} MiB of memory`;
    if (now - tooMuchSinceMs > PATIENCE_MS) endBrowser(`${why}, and closing tabs did not help`);
    else if (now - closedMs() > FREED_MS) stopLoudest(why);
  }
}
