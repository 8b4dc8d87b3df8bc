import { type Rate, type TokenBucket, tokenBucket } from './rate.ts';

/** How fast tabs open tabs: one that a page opened shares the rate of the tab that opened it. */
export interface PopupRate {
  /** False: faster than the rate allows. */
  opened(targetId: string, openerId: string): boolean;
  closed(targetId: string): void;
}

export function popupRate(rate: Rate, nowMs: () => number): PopupRate {
  const families = new Map<string, TokenBucket>();
  return {
    opened(targetId, openerId) {
      const family = families.get(openerId) ?? tokenBucket(rate, nowMs);
      families.set(openerId, family);
      families.set(targetId, family);
      return family.take(1);
    },
    closed: targetId => void families.delete(targetId),
  };
}
