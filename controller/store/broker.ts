import * as z from 'zod';
import { effectivePolicy } from '../../contract/policy/document.ts';
import type { Broker } from '../ports/broker.ts';
import type { Database } from '../ports/database.ts';
import { call } from './call.ts';

const redeemed = z.discriminatedUnion('outcome', [
  z
    .object({
      outcome: z.literal('redeemed'),
      user_id: z.string(),
      policy: effectivePolicy,
      remaining_ms: z.int(),
      ends_in_seconds: z.int(),
      now_ms: z.int(),
    })
    .transform(row => ({
      outcome: row.outcome,
      userId: row.user_id,
      policy: row.policy,
      remainingMs: row.remaining_ms,
      endsInSeconds: row.ends_in_seconds,
      nowMs: row.now_ms,
    })),
  z.object({ outcome: z.literal('wait') }),
  z.object({ outcome: z.literal('refused'), why: z.string() }),
]);

const DEPTH_MAX = 32;

/**
 * What jsonb can hold. A page or an agent can put null bytes, broken Unicode and endless depth into a tool call; that must
 * not keep the call off the timeline.
 */
function storable(value: unknown, levels = DEPTH_MAX): unknown {
  if (typeof value === 'string') return value.toWellFormed().replaceAll('\0', '\ufffd');
  if (typeof value !== 'object' || value === null) return value;
  if (levels === 0) return '(nested too deep)';
  if (Array.isArray(value)) return value.map(each => storable(each, levels - 1));
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [storable(key), storable(each, levels - 1)]));
}

export function sqlBroker(database: Database): Broker {
  return {
    async redeem(claims, tokenExpiresMs) {
      const { session_id, epoch, claim_id, runner_id, boot_id, user_id } = claims;
      const [row] = await database.query<{ answer: object }>(
        `select omicron.redeem($1, $2, $3, $4, $5, $6) || jsonb_build_object('policy', omicron.policy_of($1, $7)) as answer`,
        [session_id, epoch, claim_id, runner_id, boot_id, new Date(tokenExpiresMs).toISOString(), user_id],
      );
      return redeemed.parse(row?.answer);
    },
    activity: async (lease, calls) => {
      const [row] = await database.query<{ remaining: string | number | null; version: string }>(
        `select omicron.report_activity($1, $2, $3, $4) as remaining,
                (select omicron.policy_of(s.id, s.user_id) ->> 'version' from omicron.browser_sessions s where s.id = $1) as version`,
        [lease.session_id, lease.epoch, lease.runner_id, calls],
      );
      // int8 arrives as text from a server and as a number from PGlite
      const remainingMs = z.coerce
        .number()
        .nullable()
        .parse(row?.remaining ?? null);
      return remainingMs === null || !row ? null : { remainingMs, policyVersion: row.version };
    },
    events: async (lease, events) =>
      z
        .boolean()
        .parse(
          await call(
            database,
            'write_events',
            lease.session_id,
            lease.epoch,
            lease.runner_id,
            JSON.stringify(storable(events)),
          ),
        ),
    artifact: async (lease, report) =>
      z
        .boolean()
        .parse(
          await call(
            database,
            'write_artifact',
            ...[lease.session_id, lease.epoch, lease.runner_id, report.name, report.state],
            ...(report.state === 'stored' ? [report.uri, report.bytes, null] : [null, null, report.reason]),
          ),
        ),
  };
}
