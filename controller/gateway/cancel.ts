import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Cancellation } from '../../http/cancellable-calls.ts';
import { type LiveLeaseParts, liveLeases } from './live-leases.ts';
import { passedHeaders } from './relay.ts';
import { callRunner } from './runner-call.ts';

/** A runner that does not answer is not waited for: the client expects no answer. */
const TOLD_MS = 5_000;

/**
 * Informs the runners of a user's leases that a call is cancelled. The message names no conversation, and the call may run through another
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

/** The client that may cancel a call. A client that does not name itself cancels nothing: the id alone may be another's. */
export const clientOf = (userId: string, headers: IncomingHttpHeaders): string =>
  JSON.stringify([userId, headers['mcp-session-id'] ?? randomUUID()]);

/** Whether the client has a name that its cancellations repeat. */
export const namesItself = (headers: IncomingHttpHeaders): boolean => headers['mcp-session-id'] !== undefined;
