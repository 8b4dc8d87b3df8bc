/** Some 100 ms of matching; 300 patterns of 30 characters on a URL of 1,000 take 9 million. */
const STEPS_MAX = 10_000_000;

/** The work that one decision may still take. */
export interface MatchingWork {
  /** Takes steps off, and throws `MatchingWorkSpent` where too few are left. */
  spend(steps: number): void;
}

/** Policy and arguments are too much for each other: either may be an attacker's, so the call is not decided. */
export class MatchingWorkSpent extends Error {
  override readonly name = 'MatchingWorkSpent';
}

export function matchingWork(): MatchingWork {
  let left = STEPS_MAX;
  return {
    spend(steps) {
      left -= steps;
      if (left < 0) throw new MatchingWorkSpent('The policy takes too long to match these arguments.');
    },
  };
}
