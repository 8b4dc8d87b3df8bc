import type { PendingUserActionList } from '../../contract/user-action.ts';
import type { UserActions } from '../store/user-actions.ts';
import type { ChangeSignal } from './changes.ts';

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

/** A look that finds nothing new for this long begins again. */
const LOOK_MS = 20_000;

/** One look at the database for all who listen, and none while no one does. `onError` is called when it cannot be read; it is tried again. */
export function pendingUserActions(
  userActions: Pick<UserActions, 'pending'>,
  changes: ChangeSignal,
  onError: (error: unknown) => void,
): PendingUserActions {
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
    while (listeners.size > 0)
      try {
        const isNews = (found: readonly Pending[]) =>
          listeners.size === 0 || found.length !== known.size || found.some(({ id }) => !known.has(id));
        compare(await changes.untilAny(() => userActions.pending(null), isNews, LOOK_MS));
      } catch (error) {
        onError(error);
        await changes.untilAny(
          async () => undefined,
          () => false,
          1_000,
        );
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
        changes.kick();
      };
    },
  };
}
