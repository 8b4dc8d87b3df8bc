import { isLasting } from '../results/failure-signs.ts';

/** An obstacle that is there after this time is reported: a person would not wait for it either. */
const OBSTACLE_MS = 1_700;

/**
 * Runs an action of Playwright's with a time limit, in milliseconds. If the element is still disabled, hidden or covered after 1.7 s, it
 * rejects then, as if the limit was over; if the page is busy, or nothing is known, the action gets all of it.
 */
export async function actUnlessHindered(act: (timeout: number) => Promise<void>, timeoutMs: number): Promise<void> {
  const firstMs = Math.min(timeoutMs, OBSTACLE_MS);
  try {
    await act(firstMs);
  } catch (error) {
    const log = error instanceof Error ? error.message : '';
    if (firstMs === timeoutMs || !log.includes(limit(firstMs)) || PRESSED.test(log)) throw error;
    if (isLasting(log)) throw new Error(log.replaceAll(limit(firstMs), limit(timeoutMs)), { cause: error });
    await act(timeoutMs - firstMs);
  }
}

const limit = (ms: number): string => `Timeout ${ms}ms exceeded`;

/** In the log of an action that has begun to press. */
export const PRESSED = /performing (?:dbl)?click action/;
