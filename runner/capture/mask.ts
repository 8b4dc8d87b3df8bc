import type { Clock } from '../../time/clock.ts';

/** Hides frames while some work is under way, and for as long as frames of its end may still be on their way. */
export interface FrameMask {
  isOn(): boolean;
  during<T>(work: () => Promise<T>): Promise<T>;
}
export const MASK_MS = 250;

export function frameMask(clock: Clock): FrameMask {
  let running = 0;
  let untilMs = Number.NEGATIVE_INFINITY;
  return {
    isOn: () => running > 0 || clock.nowMs() < untilMs,
    async during(work) {
      running += 1;
      try {
        return await work();
      } finally {
        running -= 1;
        untilMs = clock.nowMs() + MASK_MS;
      }
    },
  };
}

export interface MaskedFrames<Frame> {
  add(frame: Frame): void;
  /** Shows what waits, if it may be shown by now. */
  end(): void;
}

/** Shows frames as they come, except masked ones: of these the last is shown after the mask, if nothing followed it. */
export function maskedFrames<Frame>(show: (frame: Frame) => void, mask: FrameMask, clock: Clock): MaskedFrames<Frame> {
  const ended = new AbortController();
  /** Came while masked; if nothing follows it, it is what the page looks like now. */
  let held: Frame | undefined;
  let waiting = false;

  const showHeld = () => {
    if (held === undefined || mask.isOn()) return;
    const frame = held;
    held = undefined;
    show(frame);
  };

  async function waitForMask(): Promise<void> {
    waiting = true;
    try {
      while (held !== undefined) {
        await clock.sleep(MASK_MS, ended.signal, true);
        showHeld();
      }
    } catch {
      // it has ended
    } finally {
      waiting = false;
    }
  }

  return {
    add(frame) {
      if (!mask.isOn()) {
        held = undefined;
        show(frame);
        return;
      }
      held = frame;
      if (!waiting) void waitForMask();
    },
    end() {
      ended.abort();
      showHeld();
    },
  };
}
