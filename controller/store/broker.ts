import * as z from 'zod';
import type { LeaseKey } from '../../contract/lease-key.ts';
import { type EffectivePolicy, effectivePolicy } from '../../contract/policy/document.ts';
import type { ArtifactReport, RunnerEvent } from '../../contract/reports.ts';
import type { BrokerClaims } from '../../contract/tokens.ts';
import type { Database } from '../ports/database.ts';
import { callFunction, setsSpan, spanSetting } from './call.ts';
import type { StartedLease } from './leases.ts';
import { type SessionRow, sessionRow } from './rows.ts';

export type Redemption =
  | {
      outcome: 'redeemed';
      userId: string;
      policy: EffectivePolicy;
      remainingMs: number;
      endsInSeconds: number;
      nowMs: number;
      /** The session was hibernated: its snapshot is to be restored. */
      restores: boolean;
      /** Its row, where the lease became ready; else null. */
      session: SessionRow | null;
    }
  /** The runner of the lease before may still act; ask again. */
  | { outcome: 'wait' }
  | { outcome: 'refused'; why: string };

/** Calls of runners. Repeating any of it is harmless. */
export interface Broker {
  /**
   * One call succeeds for a claim, whatever the number of replicas; and another one only with the key of the first: its answer may have been
   * lost. With `ready` it makes the lease ready in the same transaction.
   */
  redeem(
    claims: BrokerClaims,
    tokenExpiresMs: number,
    more?: { key?: string | undefined; ready?: StartedLease | undefined },
  ): Promise<Redemption>;
  /** Milliseconds left, and for which the lease is held, and the version of the policy; null: the lease is over. No calls: only asks. */
  reportActivity(
    lease: LeaseKey,
    calls: number,
  ): Promise<{ remainingMs: number; policyVersion: string; heldMs: number } | null>;
  /** False: this runner never held that lease. */
  writeEvents(lease: LeaseKey, events: readonly RunnerEvent[]): Promise<boolean>;
  writeArtifact(lease: LeaseKey, report: ArtifactReport): Promise<boolean>;
}

const redemption = z.discriminatedUnion('outcome', [
  z
    .object({
      outcome: z.literal('redeemed'),
      user_id: z.string(),
      policy: effectivePolicy,
      remaining_ms: z.int(),
      ends_in_seconds: z.int(),
      now_ms: z.int(),
      restores: z.boolean(),
      session: sessionRow.nullable(),
    })
    .transform(row => ({
      outcome: row.outcome,
      userId: row.user_id,
      policy: row.policy,
      remainingMs: row.remaining_ms,
      endsInSeconds: row.ends_in_seconds,
      nowMs: row.now_ms,
      restores: row.restores,
      session: row.session,
    })),
  z.object({ outcome: z.literal('wait') }),
  z.object({ outcome: z.literal('refused'), why: z.string() }),
]);

const DEPTH_MAX = 32;

/**
 * Values that jsonb can hold. A page or an agent can put null bytes, broken Unicode and endless depth into a tool call; that
 * must not keep the call off the timeline.
 */
function sanitiseForJsonb(value: unknown, levels = DEPTH_MAX): unknown {
  if (typeof value === 'string') return value.toWellFormed().replaceAll('\0', '\ufffd');
  if (typeof value !== 'object' || value === null) return value;
  if (levels === 0) return '(nested too deep)';
  if (Array.isArray(value)) return value.map(each => sanitiseForJsonb(each, levels - 1));
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [sanitiseForJsonb(key), sanitiseForJsonb(each, levels - 1)]),
  );
}

/** `renewals`: connections that keep leases alive. */
export function sqlBroker(database: Database, renewals = database): Broker {
  const leaseArguments = ({ session_id, epoch, runner_id }: LeaseKey) => ({
    p_session: session_id,
    p_epoch: epoch,
    p_runner: runner_id,
  });
  return {
    async redeem(claims, tokenExpiresMs, { key, ready } = {}) {
      const { session_id, epoch, claim_id, runner_id, boot_id, user_id } = claims;
      const [row] = await database.query<{ answer: object }>(
        `with redemption as materialized (
           select omicron.redeem(p_session => $1, p_epoch => $2, p_claim => $3, p_runner => $4, p_boot => $5, p_token_expires => $6,
             p_key => $7) as answer)
         select answer || jsonb_build_object('policy', omicron.policy_of(p_session => $1, p_user => $8),
           'session', case when $9::text is not null and answer ->> 'outcome' = 'redeemed' then
             omicron.make_ready(p_session => $1, p_epoch => $2, p_claim => $3, p_mcp_url => $9, p_workload => $10, p_prefix => $11) end) as answer
           from redemption, ${setsSpan(12)}`,
        [
          ...[
            session_id,
            epoch,
            claim_id,
            runner_id,
            boot_id,
            new Date(tokenExpiresMs).toISOString(),
            key ?? null,
            user_id,
          ],
          ...[ready?.mcpUrl ?? null, ready?.workload ?? null, ready?.prefix ?? null, spanSetting()],
        ],
      );
      return redemption.parse(row?.answer);
    },
    async reportActivity(lease, calls) {
      const [row] = await renewals.query<{ remaining: unknown; version: string; held: unknown }>(
        `select omicron.report_activity(p_session => $1, p_epoch => $2, p_runner => $3, p_calls => $4) as remaining,
                (select omicron.policy_of(p_session => s.id, p_user => s.user_id) ->> 'version'
                   from omicron.browser_sessions s where s.id = $1) as version,
                (select omicron.held_ms(s) from omicron.browser_sessions s where s.id = $1) as held`,
        [lease.session_id, lease.epoch, lease.runner_id, calls],
      );
      // int8 arrives as text from a server and as a number from PGlite
      const remainingMs = z.coerce
        .number()
        .nullable()
        .parse(row?.remaining ?? null);
      if (remainingMs === null || !row) return null;
      return { remainingMs, policyVersion: row.version, heldMs: z.coerce.number().parse(row.held) };
    },
    async writeEvents(lease, events) {
      const written = { ...leaseArguments(lease), p_events: JSON.stringify(sanitiseForJsonb(events)) };
      return z.boolean().parse(await callFunction(database, 'write_events', written));
    },
    async writeArtifact(lease, report) {
      const stored = report.state === 'stored';
      const artifact = {
        p_name: report.name,
        p_state: report.state,
        p_uri: stored ? report.uri : null,
        p_bytes: stored ? report.bytes : null,
        p_reason: stored ? null : report.reason,
      };
      return z
        .boolean()
        .parse(await callFunction(database, 'write_artifact', { ...leaseArguments(lease), ...artifact }));
    },
  };
}
