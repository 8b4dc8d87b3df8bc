import * as z from 'zod';
import { runnerOptions } from '../../contract/assignment.ts';
import { epoch } from '../../contract/lease-key.ts';
import { END_REASONS, tagsSchema } from '../../contract/session.ts';
import { RUNNER_STATES, SESSION_STATES } from '../../contract/states.ts';

const time = z.string().transform(text => new Date(text));

/** A row of `browser_sessions` as `to_jsonb` writes it. */
export const sessionRow = z.object({
  id: z.uuid(),
  user_id: z.string(),
  conversation_id: z.string(),
  status: z.enum(SESSION_STATES),
  epoch,
  claim_id: z.uuid().nullable(),
  runner_id: z.uuid().nullable(),
  provider: z.string(),
  mcp_url: z.string().nullable(),
  ttl_seconds: z.int(),
  options: runnerOptions,
  tags: tagsSchema,
  created_at: time,
  updated_at: time,
  last_used_at: time,
  starting_since: time.nullable(),
  expires_at: time,
  ends_at: time,
  archived_at: time.nullable(),
  released_at: time.nullable(),
  ended_reason: z.enum(END_REASONS).nullable(),
  error: z.string().nullable(),
  hibernated_until: time.nullable(),
  artifacts_s3_prefix: z.string().nullable(),
});
export type SessionRow = z.infer<typeof sessionRow>;

/** A row of `runners` as `to_jsonb` writes it. */
export const runnerRow = z.object({
  id: z.uuid(),
  provider: z.string(),
  template: z.string(),
  state: z.enum(RUNNER_STATES),
  boot_id: z.uuid().nullable(),
  endpoint: z.string().nullable(),
  session_id: z.uuid().nullable(),
  epoch: epoch.nullable(),
  assigned_at: time.nullable(),
  redeemed_at: time.nullable(),
  acknowledged_at: time.nullable(),
  created_at: time,
  draining_at: time.nullable(),
  reason: z.string().nullable(),
});
export type RunnerRow = z.infer<typeof runnerRow>;

/** One that a worker took, and holds until then. */
export const takenRow = runnerRow.extend({ work_until: time, launched_at: time.nullable() });
