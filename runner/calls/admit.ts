import * as z from 'zod';
import { SNAPSHOTS } from '../../contract/assignment.ts';
import { leaseEndedResult } from '../../contract/lease-ended.ts';
import { refusalResult } from '../../contract/tool-failure.ts';
import { TOKENS_MAX, TOKENS_MIN } from '../budget/fit.ts';
import { invalidArguments } from '../results/result.ts';
import { unknownTool } from '../results/unknown-tool.ts';
import { tooLong } from './argument-bounds.ts';
import type { CallLease } from './call-lease.ts';
import { listTools } from './lease-tools.ts';
import type { Stage } from './stage.ts';

/** Refuses calls of an ended lease, of unknown tools and of other sessions, and calls with wrong options. */
export function admit(
  lease: Pick<CallLease, 'lifetime' | 'available' | 'policy' | 'isOwnName' | 'snapshot' | 'tokensMax'>,
): Stage {
  const { lifetime, available, policy, isOwnName } = lease;
  // Once a lease: a schema takes longer to make than to use.
  const options = z.object({
    snapshot: z.enum(SNAPSHOTS).default(lease.snapshot),
    tokensMax: z.int().min(TOKENS_MIN).max(TOKENS_MAX).default(lease.tokensMax),
  });
  return async (call, next) => {
    const tool = available.get(call.name);
    if (lifetime.isOver()) return leaseEndedResult(null);
    if (tool === undefined)
      return unknownTool(
        call.name,
        listTools(available, policy).map(({ name }) => name),
      );
    const { sessionId, snapshot, tokensMax, ...args } = call.given;
    if (!isOwnName(sessionId)) return SESSION_MISMATCH;
    const long = tooLong(args);
    if (long !== undefined) return invalidArguments(long);
    const view = options.safeParse({ snapshot, tokensMax });
    if (view.error !== undefined) return invalidArguments(z.prettifyError(view.error));
    call.admitted = { tool, args, view: view.data };
    return next();
  };
}

export const SESSION_MISMATCH = refusalResult({
  code: 'session_mismatch',
  why: 'This is the endpoint of another browser session.',
  instead:
    'Leave sessionId out, or send the session_id that came with this endpoint, or the name that its first call gave it.',
});
