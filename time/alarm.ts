import type { Clock } from './clock.ts';

/** One moment at which something is done; setting it again replaces it. Does not keep the process alive. */
export interface Alarm {
  setAt(atMs: number): void;
  clear(): void;
}

/** A moment that moves on and on, as the end of a pause does with each use, costs no wait of its own: the one that goes on is prolonged. */
export function alarm(clock: Clock, ring: () => void): Alarm {
  let pending: { atMs: number; readonly wakesAtMs: number; readonly cleared: AbortController } | undefined;
  const clear = () => {
    pending?.cleared.abort();
    pending = undefined;
  };
  function wait(atMs: number): void {
    const mine = { atMs, wakesAtMs: atMs, cleared: new AbortController() };
    pending = mine;
    clock.sleep(Math.max(0, atMs - clock.nowMs()), mine.cleared.signal, true).then(
      () => {
        if (pending !== mine) return;
        pending = undefined;
        if (mine.atMs > clock.nowMs()) wait(mine.atMs);
        else ring();
      },
      () => undefined,
    );
  }
  return {
    setAt(atMs) {
      if (pending !== undefined && pending.wakesAtMs <= atMs) {
        pending.atMs = atMs;
        return;
      }
      clear();
      wait(atMs);
    },
    clear,
  };
}
