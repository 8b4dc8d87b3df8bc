import type { IncomingHttpHeaders } from 'node:http';
import * as z from 'zod';
import type { LeaseKey } from '../../contract/lease-key.ts';
import { listQuery } from '../../contract/session.ts';
import { mcpToken } from '../../contract/tokens.ts';
import type { Directory } from '../store/directory.ts';
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
  { directory, derivation }: { directory: Directory; derivation: Uint8Array },
): Promise<void> {
  const { sessions } = await directory.list({ ...listQuery.parse({ status: 'ready' }), user_id: userId });
  await Promise.allSettled(
    sessions.map(async ({ id, epoch, runner_id, mcp_url }) => {
      if (runner_id === null || mcp_url === null) return;
      const lease: LeaseKey = { session_id: id, epoch, runner_id };
      const authorization = `Bearer ${mcpToken(derivation, lease)}`;
      const request = { headers: { ...passedHeaders(headers), authorization }, body: JSON.stringify(message) };
      const sent = await callRunner(mcp_url, request, AbortSignal.timeout(TOLD_MS));
      if (sent.outcome === 'answered') sent.answer.resume();
    }),
  );
}
