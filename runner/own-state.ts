import type { AssignAnswer, Assignment } from '../contract/assignment.ts';
import type { ServedLease } from './lease/lease.ts';
import type { PhaseMachine } from './lease/phase.ts';
import type { OwnBrowser } from './own-browser.ts';
import type { Redact } from './reporting/redact.ts';

/** The state of a runner and of its one lease. */
export interface OwnState {
  readonly bootId: string;
  readonly machine: PhaseMachine;
  readonly own: OwnBrowser;
  assigned?: { readonly assignment: Assignment; readonly answer: Promise<AssignAnswer> };
  served?: ServedLease;
  /** Resolves once the lease is served, or is not. */
  serving: Promise<void>;
  /** Resolves when no agent is served any more. */
  closedToAgents: Promise<void>;
  /** Takes the lease's secrets out of what the browser wrote. */
  conceal: Redact;
  /** The session is hibernated when this machine goes away. */
  hibernates: boolean;
}
