import * as z from 'zod';
import { runnerOptions } from '../../contract/assignment.ts';
import { epoch } from '../../contract/lease-key.ts';
import { END_REASONS, SESSION_STATES, type Session, tagsSchema } from '../../contract/session.ts';

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
  ended_reason: z.enum(END_REASONS).nullable(),
  error: z.string().nullable(),
  artifacts_s3_prefix: z.string().nullable(),
});
export type SessionRow = z.infer<typeof sessionRow>;

export const RUNNER_STATES = ['creating', 'warm', 'claimed', 'leased', 'draining', 'gone'] as const;
export type RunnerState = (typeof RUNNER_STATES)[number];

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

/** What operators see of a session; no claim, no token. */
export function sessionView(row: SessionRow): Session {
  return {
    session_id: row.id,
    user_id: row.user_id,
    conversation_id: row.conversation_id,
    status: row.status,
    epoch: row.epoch,
    runner_id: row.runner_id,
    provider: row.provider,
    mcp_url: row.mcp_url,
    tags: row.tags,
    record_video: row.options.record_video,
    ttl_seconds: row.ttl_seconds,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
    last_used_at: row.last_used_at.toISOString(),
    expires_at: row.expires_at.toISOString(),
    ends_at: row.ends_at.toISOString(),
    archived_at: row.archived_at?.toISOString() ?? null,
    ended_reason: row.ended_reason,
    error: row.error,
    artifacts_prefix: row.artifacts_s3_prefix,
  };
}
