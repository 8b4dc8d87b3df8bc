import type { Clock } from '../../time/clock.ts';
import type { Directory, Start } from '../store/directory.ts';
import { SharedWait } from './shared-wait.ts';

/** The promise's value, or undefined when `deadlineMs` (by the clock) came first; the promise goes on. */
export async function settledBefore<T>(deadlineMs: number, promise: Promise<T>, clock: Clock): Promise<T | undefined> {
  const timer = new AbortController();
  const late = clock.sleep(Math.max(0, deadlineMs - clock.nowMs()), timer.signal, true).then(() => undefined);
  try {
    return await Promise.race([promise, late]);
  } finally {
    timer.abort();
  }
}

/**
 * Waits for starts that another caller leads. However many callers wait for however many starts, one loop reads the database; a
 * start led in this process ends the wait at once.
 */
export class Waiting {
  readonly #looks: SharedWait<Start>;
  readonly #clock: Clock;
  readonly #waits = new Map<string, { settled: Promise<void>; wake: () => void }>();

  constructor(directory: Directory, clock: Clock) {
    this.#looks = new SharedWait(async keys => {
      const settled = await directory.settledStarts(keys.map(startOf));
      return new Map(settled.map(start => [keyOf(start), start]));
    }, clock);
    this.#clock = clock;
  }

  /**
   * Resolves when that epoch's start has ended or its claimer has stopped renewing its claim, with `false` when
   * `deadlineMs` (by the clock) came first.
   */
  async settled(sessionId: string, epoch: number, deadlineMs: number): Promise<boolean> {
    const key = keyOf({ sessionId, epoch });
    const wait = this.#waits.get(key) ?? this.#begin(key);
    const settled = wait.settled.then(() => true);
    return (await settledBefore(deadlineMs, settled, this.#clock)) ?? false;
  }

  /** A start of this process has ended. */
  wake(sessionId: string, epoch: number): void {
    this.#waits.get(keyOf({ sessionId, epoch }))?.wake();
  }

  #begin(key: string) {
    const woken = new AbortController();
    const settled = this.#untilSettled(key, woken.signal).finally(() => this.#waits.delete(key));
    settled.catch(() => {}); // each waiter sees the error; there may be no waiter left
    const wait = { settled, wake: () => woken.abort() };
    this.#waits.set(key, wait);
    return wait;
  }

  async #untilSettled(key: string, woken: AbortSignal): Promise<void> {
    await this.#looks.wait(key, woken).catch(error => {
      if (!woken.aborted) throw error; // woken: it has settled
    });
  }
}

const keyOf = ({ sessionId, epoch }: Start): string => `${sessionId}/${epoch}`;

function startOf(key: string): Start {
  const [sessionId = '', epoch] = key.split('/');
  return { sessionId, epoch: Number(epoch) };
}
