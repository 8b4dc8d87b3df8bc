import type { Snapshot } from '../../contract/assignment.ts';

/** How a call wants to see the page. */
export interface View {
  readonly snapshot: Snapshot;
  /** About how many tokens the text of the answer takes at most. */
  readonly tokensMax: number;
}

/** Time limit of a snapshot that the agent did not ask for. */
export const SNAPSHOT_MS = 5_000;
