import type { Clock } from '../../http/clock.ts';

/** One moment at which something is done; setting it again replaces it. Does not keep the process alive. */
export interface Alarm {
  setAt(atMs: number): void;
  clear(): void;
}

export function alarm(clock: Clock, ring: () => void): Alarm {
  let pending: AbortController | undefined;
  return {
    setAt(atMs) {
      pending?.abort();
      const mine = new AbortController();
      pending = mine;
      clock.sleep(Math.max(0, atMs - clock.nowMs()), mine.signal, true).then(
        () => !mine.signal.aborted && ring(),
        () => undefined,
      );
    },
    clear: () => pending?.abort(),
  };
}
