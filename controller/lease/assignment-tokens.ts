import type { Assignment } from '../../contract/assignment.ts';
import type { HibernateOrder } from '../../contract/hibernation.ts';
import type { LeaseKey } from '../../contract/lease-key.ts';
import { AUDIENCES, videoPrefix } from '../../contract/names.ts';
import type { ProfileCheckRequest } from '../../contract/profile.ts';
import type { SigningKey } from '../../contract/tokens.ts';
import { mcpToken, sha256Hex, signControllerToken } from '../../contract/tokens.ts';
import type { RunnerRow, SessionRow } from '../store/rows.ts';

/** How long an assignment or a drain is valid, by the database's clock. */
const ASSIGNMENT_SECONDS = 60;
/** An uploader may have to wait for a store that is unavailable. */
const ARTIFACT_SECONDS = 24 * 3600;

/** The keys of the deployment, shared by all replicas. */
export interface Keys {
  signing: SigningKey;
  derivation: Uint8Array;
}

/** Assigns a runner to one lease. `row` was marked as assigned: its time is the token's. */
export function assignmentToken(
  keys: Keys,
  env: string,
  session: SessionRow,
  row: RunnerRow,
  claimId: string,
): { token: string; prefix: string } {
  const { boot_id, assigned_at } = row;
  if (boot_id === null || assigned_at === null) throw new Error(`runner ${row.id} was not marked as assigned`);
  const lease: LeaseKey = { session_id: session.id, epoch: session.epoch, runner_id: row.id };
  const audiences = [AUDIENCES.runner(row.id, boot_id), AUDIENCES.broker];
  const times = { nowMs: assigned_at.getTime(), seconds: ASSIGNMENT_SECONDS };
  const prefix = videoPrefix(env, session.id, session.epoch, row.id);
  const claims: Assignment = {
    ...lease,
    jti: claimId,
    claim_id: claimId,
    boot_id,
    user_id: session.user_id,
    options: session.options,
    mcp_token_sha256: sha256Hex(mcpToken(keys.derivation, lease)),
    artifacts_prefix: prefix,
  };
  return { token: signControllerToken(keys.signing, audiences, claims, times), prefix };
}

/** Orders a runner to stop serving. */
export const drainToken = (keys: Keys, runnerId: string, bootId: string, reason: string): string =>
  orderToken(keys, runnerId, bootId, { order: 'drain', reason });

/** Orders a runner to save its lease's profile. */
export const saveProfileToken = (keys: Keys, runnerId: string, bootId: string): string =>
  orderToken(keys, runnerId, bootId, { order: 'save_profile' });

/** Orders a runner to hibernate its session. */
export const hibernateToken = (keys: Keys, runnerId: string, bootId: string, order: HibernateOrder): string =>
  orderToken(keys, runnerId, bootId, { order: 'hibernate', ...order });

/** Orders a runner to look at a page, whether its lease's profile is logged in there. */
export const checkLoginToken = (keys: Keys, runnerId: string, bootId: string, page: ProfileCheckRequest): string =>
  orderToken(keys, runnerId, bootId, { order: 'check_login', page });

/** Opens the files of a runner's lease. */
export const filesToken = (keys: Keys, runnerId: string, bootId: string): string =>
  orderToken(keys, runnerId, bootId, { order: 'files' });

const orderToken = (keys: Keys, runnerId: string, bootId: string, order: Record<string, unknown>): string =>
  signControllerToken(keys.signing, AUDIENCES.runner(runnerId, bootId), order, {
    nowMs: Date.now(),
    seconds: ASSIGNMENT_SECONDS,
  });

/** Tokens with which a runner reports after its redemption: events while its epoch lives, recordings for a day after it. */
export function reportTokens(
  keys: Keys,
  lease: LeaseKey,
  redeemed: { nowMs: number; endsInSeconds: number },
): { lease_token: string; artifact_token: string } {
  const { nowMs, endsInSeconds } = redeemed;
  const signed = (audience: string, seconds: number) =>
    signControllerToken(keys.signing, audience, lease, { nowMs, seconds });
  return {
    lease_token: signed(AUDIENCES.lease, endsInSeconds),
    artifact_token: signed(AUDIENCES.artifacts, endsInSeconds + ARTIFACT_SECONDS),
  };
}
