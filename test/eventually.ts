import { setTimeout as sleep } from 'node:timers/promises';

/** Most waits take milliseconds, and twenty times as long where ten programs share two cores; a test has 60 s. */
const WITHIN_MS = 45_000;

/** Between two looks; one that itself takes longer rests as long as it took, up to the second, so that looking takes no core. */
const REST_MS = { min: 20, max: 500 };

/** Polls until `look` answers something truthy; throws with `what` and the last answer or error when `withinMs` have passed. */
export async function eventually<T>(
  what: string,
  look: () => T | Promise<T>,
  withinMs = WITHIN_MS,
): Promise<Exclude<NonNullable<T>, false>> {
  const deadlineMs = performance.now() + withinMs;
  for (;;) {
    let last: unknown;
    const lookedMs = performance.now();
    try {
      const found = await look();
      if (found) return found as Exclude<NonNullable<T>, false>; // truthy, so neither of those
      last = found;
    } catch (error) {
      last = error;
    }
    if (performance.now() > deadlineMs) throw new Error(`not within ${withinMs} ms: ${what}`, { cause: last });
    await sleep(Math.min(Math.max(performance.now() - lookedMs, REST_MS.min), REST_MS.max));
  }
}
