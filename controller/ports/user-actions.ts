import type { LeaseKey } from '../../contract/lease-key.ts';
import type { UserAction } from '../../contract/user-action.ts';

/** A10: requests of agents to their person. The first answer counts. */
export interface UserActions {
  /** Null: the lease is over. Repeating it with the same id answers how it stands. */
  ask(lease: LeaseKey, id: string, reason: string, seconds: number): Promise<UserAction | null>;
  /** Null: there is no such request. */
  find(sessionId: string, id: string): Promise<UserAction | null>;
  answer(sessionId: string, id: string, status: 'done' | 'declined', note: string | null): Promise<UserAction | null>;
  list(sessionId: string): Promise<UserAction[]>;
}
