import type { Clock } from '../../time/clock.ts';

/** A still page sends no frames; its last one is repeated so that the video lasts as long as the page did. */
export const STILL_MS = 1_000;

export interface FrameWriter {
  add(frame: Buffer): void;
  /** Writes what the page looks like at the end. */
  end(): void;
}

/** Writes frames as they come, and repeats the last one while the page is still. */
export function frameWriter(write: (frame: Buffer) => void, clock: Clock): FrameWriter {
  const ended = new AbortController();
  let last: Buffer | undefined;
  let lastMs = 0;
  const add = (frame: Buffer) => {
    last = frame;
    lastMs = clock.nowMs();
    write(frame);
  };
  const repeat = async () => {
    for (;;) {
      await clock.sleep(STILL_MS / 2, ended.signal, true);
      if (last !== undefined && clock.nowMs() - lastMs >= STILL_MS) add(last);
    }
  };
  repeat().catch(() => undefined); // rejects when it has ended
  return {
    add,
    end() {
      ended.abort();
      if (last !== undefined) write(last);
    },
  };
}
