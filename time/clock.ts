import { setTimeout as sleep } from 'node:timers/promises';

/** The part of a clock that waiting needs; a test steps it instead of sleeping. */
export interface Clock {
  /** Monotonic. */
  nowMs(): number;
  /** Rejects with the signal's reason when it aborts. Does not keep the process alive when `idle`. */
  sleep(ms: number, signal: AbortSignal, idle?: boolean): Promise<void>;
  /** 0 to 1. */
  random(): number;
}

export const realClock: Clock = {
  nowMs: () => performance.now(),
  async sleep(ms, signal, idle = false) {
    signal.throwIfAborted();
    await sleep(ms, undefined, { signal, ref: !idle }).catch(error => {
      throw signal.aborted ? signal.reason : error;
    });
  },
  random: Math.random,
};

/** A signal that never aborts: for a short wait that nothing interrupts. */
export const neverAborts = (): AbortSignal => new AbortController().signal;

/** `AbortSignal.timeout` by this clock. */
export function timeoutSignal(ms: number, clock: Clock): AbortSignal {
  const over = new AbortController();
  void clock
    .sleep(ms, neverAborts(), true)
    .then(() => over.abort(new DOMException(`not within ${ms} ms`, 'TimeoutError')));
  return over.signal;
}
