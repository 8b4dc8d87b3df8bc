-- Makes a runner `draining`; changes nothing when it is already draining or gone. A launch under way keeps its
-- `work_until`: a runner must not be removed while the call that creates it may still take effect. `p_work_until`: the caller leads
-- the drain itself, as one that took the row (take_work).
create or replace function omicron.drain_runner(p_runner uuid, p_reason text, p_work_until timestamptz default '-infinity') returns void
language sql as $$
  update omicron.runners
     set state = 'draining', draining_at = clock_timestamp(), reason = p_reason,
         work_until = case when state = 'creating' then work_until else p_work_until end
   where id = p_runner and state not in ('draining', 'gone')
$$;

-- Ends the lease whose session the caller has locked. `p_status`: ended or error. A start that fails to restore a hibernated session
-- leaves it hibernated, unless its user ends it.
create or replace function omicron.close_lease(s omicron.browser_sessions, p_status text, p_reason text, p_error text,
  p_work_until timestamptz default '-infinity') returns void
language plpgsql as $$
begin
  if s.status = 'starting' and s.hibernated_until > clock_timestamp() and p_reason not in ('released', 'archived') then
    update omicron.browser_sessions
       set status = 'hibernated', error = p_error, expires_at = hibernated_until, ends_at = hibernated_until,
           claim_id = null, claim_until = null, starting_since = null
     where id = s.id;
    perform omicron.drain_runner(s.runner_id, p_reason);
    perform omicron.write_event(s.id, s.epoch, 'session.restore_failed',
      jsonb_strip_nulls(jsonb_build_object('reason', p_reason, 'error', p_error)));
    return;
  end if;
  update omicron.browser_sessions
     set status = p_status, ended_reason = p_reason, error = p_error,
         claim_id = null, claim_until = null, starting_since = null, mcp_url = null, pod_name = null, service_name = null
   where id = s.id;
  update omicron.artifacts set due_at = omicron.file_due_at(s.options, name)
   where session_id = s.id and kind = 'file' and state = 'stored' and due_at is null;
  perform omicron.drop_snapshot(s.id);
  perform omicron.drain_runner(s.runner_id, p_reason, p_work_until);
  perform omicron.write_event(s.id, s.epoch, 'session.' || p_status,
    jsonb_strip_nulls(jsonb_build_object('reason', p_reason, 'error', p_error)));
end $$;

-- Ends the lease whose session the caller has locked, because its time is over.
create or replace function omicron.expire_lease(s omicron.browser_sessions) returns void
language plpgsql as $$
begin
  perform omicron.close_lease(s, 'ended',
    case when s.status <> 'hibernated' and s.expires_at >= s.ends_at then 'max_age' else 'expired' end, null);
end $$;
