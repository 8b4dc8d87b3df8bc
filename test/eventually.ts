import { setTimeout as sleep } from 'node:timers/promises';

/** Asks again until `look` answers something, and throws what it waited for when the time is over. */
export async function eventually<T>(
  what: string,
  look: () => Promise<T | null | undefined | false>,
  withinMs = 15_000,
): Promise<T> {
  const deadlineMs = performance.now() + withinMs;
  for (;;) {
    const seen = await look();
    if (seen !== null && seen !== undefined && seen !== false) return seen;
    if (performance.now() > deadlineMs) throw new Error(`waited ${withinMs} ms in vain: ${what}`);
    await sleep(25);
  }
}
