import type { Clock } from '../../http/clock.ts';

/** One moment at which something is done; setting it again replaces it. Does not keep the process alive. */
export interface Alarm {
  setAt(atMs: number): void;
  clear(): void;
}

export function alarm(clock: Clock, ring: () => void): Alarm {
  let pending: { readonly atMs: number; readonly cleared: AbortController } | undefined;
  const clear = () => {
    pending?.cleared.abort();
    pending = undefined;
  };
  return {
    setAt(atMs) {
      if (pending?.atMs === atMs) return;
      clear();
      const mine = { atMs, cleared: new AbortController() };
      pending = mine;
      clock.sleep(Math.max(0, atMs - clock.nowMs()), mine.cleared.signal, true).then(
        () => {
          if (pending !== mine) return;
          pending = undefined;
          ring();
        },
        () => undefined,
      );
    },
    clear,
  };
}
