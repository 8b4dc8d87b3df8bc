-- Null: the claim was lost, read again. A repeated call whose answer was lost finds its lease ready.
create or replace function omicron.make_ready(p_session uuid, p_epoch integer, p_claim uuid, p_mcp_url text, p_workload text, p_prefix text)
returns jsonb language plpgsql as $$
declare
  s omicron.browser_sessions;
  r omicron.runners;
  v_now timestamptz;
begin
  select * into s from omicron.browser_sessions where id = p_session for update;
  if s.id is null or s.epoch <> p_epoch or s.claim_id is distinct from p_claim then
    return null;
  end if;
  select * into r from omicron.runners where id = s.runner_id for update;
  v_now := clock_timestamp();
  if s.status <> 'starting' and s.status <> 'ready' or r.state <> 'leased' or s.expires_at <= v_now then
    return null;
  end if;
  if s.status = 'ready' then
    return to_jsonb(s);
  end if;
  update omicron.browser_sessions
     set status = 'ready', mcp_url = p_mcp_url, pod_name = p_workload, service_name = p_workload,
         artifacts_s3_prefix = p_prefix, claim_until = null, last_used_at = v_now,
         -- may be sooner than the end that the start was given; its runner's deadline_at has what the runner was sent
         expires_at = least(v_now + make_interval(secs => ttl_seconds), ends_at)
   where id = s.id returning * into s;
  delete from omicron.waiting_callers where user_id = s.user_id and conversation_id = s.conversation_id; -- another call of it
  if s.hibernated_until is not null then
    perform omicron.drop_snapshot(s.id);
    perform omicron.write_event(s.id, s.epoch, 'session.restored', jsonb_build_object('runner_id', r.id));
    s.hibernated_until := null;
  end if;
  perform omicron.write_event(s.id, s.epoch, 'session.ready', jsonb_build_object('runner_id', r.id,
    'start_ms', round(extract(epoch from v_now - s.starting_since) * 1000)));
  return to_jsonb(s);
end $$;
