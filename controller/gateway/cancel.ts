import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import * as z from 'zod';
import { type LiveLeaseParts, liveLeases } from './live-leases.ts';
import { passedHeaders } from './relay.ts';
import { callRunner } from './runner-call.ts';

/** How clients of 2025-11-25 cancel: by a message that names the call by its id, and themselves by `mcp-session-id`. */
export const cancellation = z.looseObject({
  method: z.literal('notifications/cancelled'),
  params: z.looseObject({ requestId: z.union([z.string(), z.number()]) }),
});
type Cancellation = z.infer<typeof cancellation>;

/** A runner that does not answer is not waited for: the client expects no answer. */
const TOLD_MS = 5_000;

/**
 * Tells the runners of a user's leases that a call is cancelled. The message names no conversation, and the call may run through another
 * replica; each runner knows which calls are its own. Never rejects.
 */
export async function cancelCall(
  message: Cancellation,
  userId: string,
  headers: IncomingHttpHeaders,
  parts: LiveLeaseParts,
): Promise<void> {
  const leases = await liveLeases(parts, userId);
  await Promise.allSettled(
    leases.map(async lease => {
      const request = { headers: { ...passedHeaders(headers), ...lease.headers }, body: JSON.stringify(message) };
      const sent = await callRunner(lease.url, request, AbortSignal.timeout(TOLD_MS));
      if (sent.outcome === 'answered') sent.answer.resume();
    }),
  );
}

/** The calls that this replica serves, for those that are cancelled before a runner knows of them: while their browser is leased. */
export class ServedCalls {
  readonly #byName = new Map<string, AbortController>();

  /** Serves a call; `cancelled` aborts when its client cancels it. */
  async serve<T>(
    id: string | number,
    userId: string,
    headers: IncomingHttpHeaders,
    call: (cancelled: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const cancelling = new AbortController();
    const name = nameOf(id, userId, headers);
    this.#byName.set(name, cancelling);
    try {
      return await call(cancelling.signal);
    } finally {
      if (this.#byName.get(name) === cancelling) this.#byName.delete(name);
    }
  }

  cancel({ params }: Cancellation, userId: string, headers: IncomingHttpHeaders): void {
    this.#byName.get(nameOf(params.requestId, userId, headers))?.abort();
  }
}

/** A client that does not name itself cancels nothing: the id alone may be another's. */
const nameOf = (id: string | number, userId: string, headers: IncomingHttpHeaders): string =>
  JSON.stringify([userId, headers['mcp-session-id'] ?? randomUUID(), id]);
