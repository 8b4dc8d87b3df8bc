import type { PendingUserActionList } from '../../contract/user-action.ts';
import { type Clock, neverAborts } from '../../time/clock.ts';
import type { UserActions } from '../store/user-actions.ts';
import type { Wake } from '../wake.ts';

type Pending = PendingUserActionList['user_actions'][number];

/** A change of a user action: an agent waits for its person, or no longer does. */
export type UserActionEvent =
  | { readonly kind: 'user_action.requested'; readonly action: Pending }
  | { readonly kind: 'user_action.closed'; readonly action: Pick<Pending, 'id' | 'session_id' | 'user_id'> };

/** Notifies listeners of user actions, of this replica's and others' runners. */
export interface PendingUserActions {
  /**
   * Calls back for each one that is pending now, then with each change. `userId` limits it to one user; null: everyone's. The
   * returned function ends it.
   */
  listen(userId: string | null, onEvent: (event: UserActionEvent) => void): () => void;
}

/** Between two looks for what other replicas did. */
const POLL_MS = 250;
const RETRY_MS = 1_000;

export interface PendingUserActionParts {
  readonly userActions: Pick<UserActions, 'pending'>;
  /** Kicked when a user action was asked or answered here. */
  readonly wake: Wake;
  /** The database could not be read; it is tried again. */
  readonly onError: (error: unknown) => void;
  readonly clock: Clock;
}

/** One look at the database for all who listen, and none while no one does. */
export function pendingUserActions({ userActions, wake, onError, clock }: PendingUserActionParts): PendingUserActions {
  const listeners = new Map<(event: UserActionEvent) => void, string | null>();
  let known = new Map<string, Pending>();
  let running = false;

  const tell = (event: UserActionEvent) => {
    for (const [listener, userId] of listeners) if (userId === null || userId === event.action.user_id) listener(event);
  };

  function compare(found: readonly Pending[]): void {
    const now = new Map(found.map(action => [action.id, action]));
    for (const { id, session_id, user_id } of known.values())
      if (!now.has(id)) tell({ kind: 'user_action.closed', action: { id, session_id, user_id } });
    for (const action of now.values()) if (!known.has(action.id)) tell({ kind: 'user_action.requested', action });
    known = now;
  }

  async function run(): Promise<void> {
    running = true;
    while (listeners.size > 0) {
      const { kicks } = wake;
      try {
        compare(await userActions.pending(null));
        await wake.wait(kicks, POLL_MS, clock);
      } catch (error) {
        onError(error);
        await clock.sleep(RETRY_MS, neverAborts(), true);
      }
    }
    known = new Map();
    running = false;
  }

  return {
    listen(userId, onEvent) {
      for (const action of known.values())
        if (userId === null || userId === action.user_id) onEvent({ kind: 'user_action.requested', action });
      listeners.set(onEvent, userId);
      if (!running) void run();
      return () => {
        listeners.delete(onEvent);
      };
    },
  };
}
