import { timingSafeEqual } from 'node:crypto';
import type { Assignment } from '../../contract/assignment.ts';
import { leaseKey } from '../../contract/lease-key.ts';
import { AUDIENCES } from '../../contract/names.ts';
import { CLOCK_SKEW_SECONDS, type ControllerKeys, sha256Hex, verifyControllerToken } from '../../contract/tokens.ts';

/** Whether a bearer token opens the lease's `/mcp` now: the derived one, or one that the controller signed and that has not expired. */
export async function opensLease(
  token: string,
  { mcp_token_sha256: digest, ...lease }: Assignment,
  { keys, nowMs }: { keys: ControllerKeys; nowMs: number },
): Promise<boolean> {
  if (timingSafeEqual(Buffer.from(sha256Hex(token)), Buffer.from(digest))) return true;
  const audience = AUDIENCES.mcp(lease.runner_id);
  const signed = await verifyControllerToken(keys, audience, token, leaseKey).catch(() => undefined);
  if (signed === undefined || signed.expMs + CLOCK_SKEW_SECONDS * 1_000 < nowMs) return false;
  return signed.claims.session_id === lease.session_id && signed.claims.epoch === lease.epoch;
}
