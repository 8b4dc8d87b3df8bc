/** A number at once, and a number each second after. */
export interface Rate {
  readonly burst: number;
  readonly perSecond: number;
}

export interface TokenBucket {
  /** False: more than the rate allows; nothing was taken. */
  take(count: number): boolean;
}

export function tokenBucket({ burst, perSecond }: Rate, nowMs: () => number): TokenBucket {
  let left = burst;
  let atMs = nowMs();
  return {
    take(count) {
      const now = nowMs();
      left = Math.min(burst, left + ((now - atMs) / 1_000) * perSecond);
      atMs = now;
      if (left < count) return false;
      left -= count;
      return true;
    },
  };
}
