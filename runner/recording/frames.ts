import type { Clock } from '../../http/clock.ts';

/** Hides frames while some work is under way, and for as long as frames of its end may still be on their way. */
export interface FrameMask {
  isOn(): boolean;
  during<T>(work: () => Promise<T>): Promise<T>;
}
const MASK_MS = 250;

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

/** A still page sends no frames; its last one is repeated so that the video lasts as long as the page did. */
export const STILL_MS = 1_000;

export interface FrameWriter {
  add(frame: Buffer): void;
  /** Writes what the page looks like at the end. */
  end(): void;
}

/** Writes frames as they come, but for masked ones; repeats the last one while the page is still. */
export function frameWriter(write: (frame: Buffer) => void, mask: FrameMask, clock: Clock): FrameWriter {
  const ended = new AbortController();
  let last: Buffer | undefined;
  /** Came while masked; if nothing follows it, it is what the page looks like now. */
  let held: Buffer | undefined;
  let lastMs = 0;
  const show = (frame: Buffer) => {
    last = frame;
    lastMs = clock.nowMs();
    write(frame);
  };
  const look = () => {
    if (held !== undefined && !mask.isOn()) {
      show(held);
      held = undefined;
    } else if (last !== undefined && clock.nowMs() - lastMs >= STILL_MS) show(last); // what is held stays held
  };
  const repeat = async () => {
    for (;;) {
      await clock.sleep(STILL_MS / 2, ended.signal, true);
      look();
    }
  };
  repeat().catch(() => undefined); // rejects when it has ended
  return {
    add(frame) {
      held = mask.isOn() ? frame : undefined;
      if (held === undefined) show(frame);
    },
    end() {
      ended.abort();
      const now = mask.isOn() ? last : (held ?? last);
      if (now !== undefined) write(now);
    },
  };
}
