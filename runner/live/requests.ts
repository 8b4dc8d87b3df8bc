import type { ServerMessage } from '../../contract/live.ts';
import type { AskedUserAction } from '../../contract/user-action.ts';
import type { Clock } from '../../time/clock.ts';

/** The user actions that wait for an answer, as viewers see them. */
export interface OpenRequests {
  /** Notifies viewers of the request, and of its end, which is what `send` answers or its rejection. */
  during(request: UserRequest, send: () => Promise<AskedUserAction>): Promise<AskedUserAction>;
  /** For a viewer that has come. */
  open(): ServerMessage[];
}

export interface UserRequest {
  readonly id: string;
  readonly reason: string;
  readonly timeout_seconds: number;
}

/** A request is sent again, under the same id, until it has an answer. */
export function openRequests(say: (message: ServerMessage) => void, clock: Clock): OpenRequests {
  const requests = new Map<string, { readonly reason: string; readonly untilMs: number }>();

  const ask = (id: string, { reason, untilMs }: { reason: string; untilMs: number }): ServerMessage => ({
    t: 'ask',
    id,
    reason,
    expires_in_ms: untilMs - clock.nowMs(),
  });

  function close(id: string): void {
    if (requests.delete(id)) say({ t: 'ask_closed', id });
  }

  return {
    async during({ id, reason, timeout_seconds }, send) {
      if (!requests.has(id)) {
        const request = { reason, untilMs: clock.nowMs() + timeout_seconds * 1_000 };
        requests.set(id, request);
        say(ask(id, request));
      }
      try {
        const action = await send();
        if (action.status !== 'pending') close(id);
        return action;
      } catch (error) {
        close(id);
        throw error;
      }
    },
    open: () =>
      [...requests].filter(([, { untilMs }]) => untilMs > clock.nowMs()).map(([id, request]) => ask(id, request)),
  };
}
