import { timingSafeEqual } from 'node:crypto';
import { type LeaseKey, leaseKey } from './lease-key.ts';
import { AUDIENCES } from './names.ts';
import { type ControllerKeys, sha256Hex, verifyControllerToken } from './tokens.ts';

/**
 * Until when a bearer token opens the lease's `/mcp`, in milliseconds since 1970; infinite for the derived one, whose digest this is:
 * it lives as long as its lease. Undefined: it is not of this lease.
 */
export async function mcpTokenExpiryMs(
  token: string,
  { session_id, epoch, runner_id }: LeaseKey,
  derivedSha256: string,
  keys: ControllerKeys,
): Promise<number | undefined> {
  if (timingSafeEqual(Buffer.from(sha256Hex(token)), Buffer.from(derivedSha256))) return Number.POSITIVE_INFINITY;
  const signed = await verifyControllerToken(keys, AUDIENCES.mcp(runner_id), token, leaseKey).catch(() => undefined);
  return signed?.claims.session_id === session_id && signed.claims.epoch === epoch ? signed.expMs : undefined;
}
