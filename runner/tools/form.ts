import type { Toolset } from '../../contract/assignment.ts';

/** How a tool waits for the page's answer. */
export type Settles =
  /** The page has nothing to answer. */
  | 'nothing'
  /** The tool's code waits for the answer to each of its actions. */
  | 'itself'
  | {
      /** The page's first change comes in this time. */
      readonly firstMs: number;
      /** It is a key, which may change nothing. */
      readonly isKey?: boolean;
      /** How an action on the page begins (settle/settle.ts). */
      readonly begins: 'asks' | 'script' | 'input';
    };

/** The parts of a form that both kinds have. */
export interface AnyForm {
  /** The toolsets that list it. */
  readonly sets: readonly Toolset[];
  readonly settles: Settles;
  /** Whether the result has a snapshot of the page as it is then. */
  readonly snapshotAfter: boolean;
}
