import * as z from 'zod';
import type { Database } from '../ports/database.ts';
import type { Leases } from '../ports/leases.ts';
import { runnerRow, sessionRow } from '../ports/rows.ts';
import { call } from './call.ts';

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
