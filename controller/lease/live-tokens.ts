import { randomUUID } from 'node:crypto';
import type { LiveTokenClaims } from '../../contract/live.ts';
import { LIVE_LIMITS } from '../../contract/live-limits.ts';
import { AUDIENCES } from '../../contract/names.ts';
import { signControllerToken } from '../../contract/tokens.ts';
import type { Keys } from './assignment-tokens.ts';
import type { LiveRunner } from './live-runner.ts';

/** A token that opens one live view of a running browser, until `expiresMs`. */
export function createLiveToken(
  { signing }: Pick<Keys, 'signing'>,
  { session, runnerId, bootId }: LiveRunner,
  who: Pick<LiveTokenClaims, 'role' | 'viewer' | 'viewer_id'>,
): { token: string; expiresMs: number } {
  const claims: LiveTokenClaims = { jti: randomUUID(), session_id: session.id, epoch: session.epoch, ...who };
  const times = { nowMs: Date.now(), seconds: LIVE_LIMITS.tokenSeconds };
  const token = signControllerToken(signing, AUDIENCES.live(runnerId, bootId), claims, times);
  return { token, expiresMs: times.nowMs + times.seconds * 1_000 };
}
