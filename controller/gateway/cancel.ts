import type { IncomingHttpHeaders } from 'node:http';
import * as z from 'zod';
import { type LiveLeaseParts, liveLeases } from './live-leases.ts';
import { passedHeaders } from './relay.ts';
import { callRunner } from './runner-call.ts';

/** How clients of 2025-11-25 cancel: by a message that names the call by its id, and themselves by `mcp-session-id`. */
export const cancellation = z.looseObject({ method: z.literal('notifications/cancelled') });

/** A runner that does not answer is not waited for: the client expects no answer. */
const TOLD_MS = 5_000;

/**
 * Tells the runners of a user's leases that a call is cancelled. The message names no conversation, and the call may run through another
 * replica; each runner knows which calls are its own. Never rejects.
 */
export async function cancelCall(
  message: unknown,
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
