import * as z from 'zod';
import type { RunnerOptions } from '../../contract/assignment.ts';
import type { EndReason, Tags } from '../../contract/session.ts';
import type { Database } from '../ports/database.ts';
import { call } from './call.ts';
import { type RunnerRow, runnerRow, type SessionRow, sessionRow } from './rows.ts';

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

export interface LeaseRules {
  userLimit: number;
  onUserLimit: 'reject' | 'evict_oldest';
  maxSessionSeconds: number;
  /** How far ahead a live claimer keeps its claim. */
  claimSeconds: number;
  /** The stuck-starting guard (O18). */
  startSeconds: number;
}

const acquired = z.discriminatedUnion('outcome', [
  z.object({ outcome: z.literal('renewed'), session: sessionRow }),
  z.object({ outcome: z.literal('claimed'), session: sessionRow, runner: runnerRow }),
  z.object({ outcome: z.literal('starting'), session: sessionRow }),
  z
    .object({
      outcome: z.literal('refused'),
      code: z.enum(['user_quota_exceeded', 'capacity_exceeded', 'predecessor_draining']),
      limit: z.int(),
      active: z.int(),
      retry_after_ms: z.number(),
    })
    .transform(({ retry_after_ms, ...refusal }) => ({ ...refusal, retryAfterMs: retry_after_ms })),
]);

const renewed = z.discriminatedUnion('outcome', [
  z.object({ outcome: z.enum(['renewed']), session: sessionRow }),
  z.object({ outcome: z.enum(['superseded', 'ended']), session: sessionRow }),
  z.object({ outcome: z.literal('not_found') }),
]);

const ended = z.discriminatedUnion('outcome', [
  z.object({ outcome: z.enum(['ended', 'already_ended', 'superseded']), session: sessionRow }),
  z.object({ outcome: z.literal('not_found') }),
]);

export function sqlLeases(database: Database, rules: LeaseRules): Leases {
  return {
    acquire: async a =>
      acquired.parse(
        await call(
          database,
          'acquire',
          ...[a.userId, a.conversationId, a.claimId, a.abandonClaimId, a.ttlSeconds, rules.maxSessionSeconds],
          ...[JSON.stringify(a.options), a.tags && JSON.stringify(a.tags), a.provider, a.template, a.namespace],
          ...[rules.userLimit, rules.onUserLimit, rules.claimSeconds, rules.startSeconds],
        ),
      ),
    beat: async claim =>
      z
        .boolean()
        .parse(
          await call(
            database,
            'beat_claim',
            ...[claim.sessionId, claim.epoch, claim.claimId, rules.claimSeconds, rules.startSeconds],
          ),
        ),
    beginAssignment: async claim =>
      runnerRow.nullable().parse(await call(database, 'begin_assignment', claim.sessionId, claim.epoch, claim.claimId)),
    makeReady: async (claim, ready) =>
      sessionRow
        .nullable()
        .parse(
          await call(
            database,
            'make_ready',
            ...[claim.sessionId, claim.epoch, claim.claimId, ready.mcpUrl, ready.workload, ready.prefix],
          ),
        ),
    fail: async (claim, reason, error) =>
      z.boolean().parse(await call(database, 'fail_claim', claim.sessionId, claim.epoch, claim.claimId, reason, error)),
    heartbeat: async (sessionId, userId, epoch) =>
      renewed.parse(await call(database, 'heartbeat', sessionId, userId, epoch)),
    end: async (sessionId, userId, epoch, reason) =>
      ended.parse(await call(database, 'end_lease', sessionId, userId, epoch, reason)),
  };
}
