import type { RunnerOptions } from '../../contract/assignment.ts';
import type { EndReason, Tags } from '../../contract/session.ts';
import type { RunnerRow, SessionRow } from './rows.ts';

/** What one get-or-create asks of the database. */
export interface Acquisition {
  userId: string;
  conversationId: string;
  /** Names this call; a repeated call finds its own claim again. */
  claimId: string;
  /** A claim of this caller whose runner failed, to be given up for a new epoch. */
  abandonClaimId: string | null;
  ttlSeconds: number;
  options: RunnerOptions;
  tags: Tags | null;
  provider: string;
  template: string;
  namespace: string;
}

export type Acquired =
  | { outcome: 'renewed'; session: SessionRow }
  /** The caller owns the start of this epoch, and of this runner. */
  | { outcome: 'claimed'; session: SessionRow; runner: RunnerRow }
  /** Another caller does. */
  | { outcome: 'starting'; session: SessionRow }
  | {
      outcome: 'refused';
      code: 'user_quota_exceeded' | 'capacity_exceeded' | 'predecessor_draining';
      limit: number;
      active: number;
      retryAfterMs: number;
    };

export type Renewed =
  | { outcome: 'renewed'; session: SessionRow }
  | { outcome: 'superseded' | 'ended'; session: SessionRow }
  | { outcome: 'not_found' };

export type Ended =
  | { outcome: 'ended' | 'already_ended' | 'superseded'; session: SessionRow }
  | { outcome: 'not_found' };

/** A claim: one caller's hold on the start of one epoch. */
export interface Claim {
  sessionId: string;
  epoch: number;
  claimId: string;
}

/**
 * The lease protocol, one database function a step. Every step may be repeated; a step that came too late answers so and
 * changes nothing. All throw `store_unavailable` when the database cannot be reached: then nothing is known, ask again.
 */
export interface Leases {
  acquire(acquisition: Acquisition): Promise<Acquired>;
  /** Keeps a live claimer's claim. False: it is over. */
  beat(claim: Claim): Promise<boolean>;
  /** Must be called before an assignment goes to a runner that came up after the claim. Null: do not send. */
  beginAssignment(claim: Claim): Promise<RunnerRow | null>;
  /** Null: somebody else won; read again. */
  makeReady(
    claim: Claim,
    ready: { mcpUrl: string; workload: string | null; prefix: string },
  ): Promise<SessionRow | null>;
  /** False: the claim was over already. */
  fail(claim: Claim, reason: EndReason, error: string): Promise<boolean>;
  /** `userId`: sessions of others are not found. `epoch` null: the current one. */
  heartbeat(sessionId: string, userId: string | null, epoch: number | null): Promise<Renewed>;
  end(sessionId: string, userId: string | null, epoch: number | null, reason: EndReason): Promise<Ended>;
}
