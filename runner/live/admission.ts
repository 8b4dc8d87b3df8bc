import type { LeaseKey } from '../../contract/lease-key.ts';
import { type LiveTokenClaims, liveTokenClaims } from '../../contract/live.ts';
import { OmicronError } from '../../contract/problem.ts';
import { CLOCK_SKEW_SECONDS, type ControllerKeys, verifyControllerToken } from '../../contract/tokens.ts';

/** Checks the tokens of viewers; each opens one socket. */
export interface Admission {
  /** Throws `unauthorized` for a token that is missing, expired, used, or of another lease. */
  admit(token: string | undefined): Promise<LiveTokenClaims>;
}

export interface AdmissionOptions {
  readonly keys: ControllerKeys;
  readonly audience: string;
  readonly lease: Pick<LeaseKey, 'session_id' | 'epoch'>;
  /** Milliseconds since 1970: a runner whose clock is a minute wrong has no viewers. */
  readonly nowMs: () => number;
}

export function liveAdmission({ keys, audience, lease, nowMs }: AdmissionOptions): Admission {
  /** Expiry by id; after it the token is refused in any case. */
  const used = new Map<string, number>();
  return {
    async admit(token) {
      if (token === undefined) throw tokenRefused('it is missing');
      const { claims, expMs } = await verifyControllerToken(keys, audience, token, liveTokenClaims);
      if (claims.session_id !== lease.session_id || claims.epoch !== lease.epoch)
        throw tokenRefused('it is of another lease');
      const now = nowMs();
      if (expMs + CLOCK_SKEW_SECONDS * 1_000 < now) throw tokenRefused('it has expired');
      for (const [id, untilMs] of used) if (untilMs + CLOCK_SKEW_SECONDS * 1_000 < now) used.delete(id);
      if (used.has(claims.jti)) throw tokenRefused('it was used already');
      used.set(claims.jti, expMs);
      return claims;
    },
  };
}

const tokenRefused = (why: string) =>
  new OmicronError('unauthorized', `The live token was refused: ${why}. Request a new one for each connection.`);
