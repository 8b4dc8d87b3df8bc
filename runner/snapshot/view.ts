import type { Snapshot } from '../../contract/assignment.ts';

/** How a call wants to see the page. */
export interface View {
  readonly snapshot: Snapshot;
  /** About how many tokens the text of the answer takes at most. */
  readonly tokensMax: number;
}

/** A snapshot that nobody asked for takes at most this time. */
export const SNAPSHOT_MS = 5_000;
