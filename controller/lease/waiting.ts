import { setTimeout as sleep } from 'node:timers/promises';
import type { Directory } from '../store/directory.ts';

/** The promise's value, or undefined when `deadlineMs` (monotonic) came first; the promise goes on. */
export async function before<T>(deadlineMs: number, promise: Promise<T>): Promise<T | undefined> {
  const late = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => late.resolve(undefined), Math.max(0, deadlineMs - performance.now()));
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Waits for starts that somebody else leads. However many callers wait for one start, one loop asks the database; a start
 * led in this process ends the wait at once.
 */
export class Waiting {
  readonly #directory: Directory;
  readonly #waits = new Map<string, { settled: Promise<void>; wake: () => void }>();

  constructor(directory: Directory) {
    this.#directory = directory;
  }

  /** Resolves when that epoch's start has ended or its claimer has fallen silent, `false` when `deadlineMs` (monotonic) came first. */
  async settled(sessionId: string, epoch: number, deadlineMs: number): Promise<boolean> {
    const key = `${sessionId}/${epoch}`;
    const wait = this.#waits.get(key) ?? this.#begin(key, sessionId, epoch);
    return (
      (await before(
        deadlineMs,
        wait.settled.then(() => true),
      )) ?? false
    );
  }

  /** A start of this process has ended. */
  wake(sessionId: string, epoch: number): void {
    this.#waits.get(`${sessionId}/${epoch}`)?.wake();
  }

  #begin(key: string, sessionId: string, epoch: number) {
    const woken = new AbortController();
    const poll = async () => {
      for (let waitMs = 25; ; waitMs = Math.min(waitMs * 1.5, 250)) {
        if (await this.#directory.isSettled(sessionId, epoch)) return;
        try {
          await sleep(waitMs * (0.75 + Math.random() / 2), undefined, { signal: woken.signal });
        } catch {
          return; // woken: it has settled
        }
      }
    };
    const settled = poll().finally(() => this.#waits.delete(key));
    settled.catch(() => {}); // each waiter sees the error; nobody may wait at all
    const wait = { settled, wake: () => woken.abort() };
    this.#waits.set(key, wait);
    return wait;
  }
}
