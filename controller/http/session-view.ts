import type { Session } from '../../contract/session.ts';
import type { SessionRow } from '../store/rows.ts';

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
