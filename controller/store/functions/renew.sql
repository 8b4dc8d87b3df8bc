-- A caller's heartbeat (O2): it holds the lease, and is a use of it. Null epoch: the current one.
-- {outcome: renewed | not_found | superseded | hibernated | ended, session}
create or replace function omicron.heartbeat(p_session uuid, p_user text, p_epoch integer) returns jsonb
language plpgsql as $$
declare
  s omicron.browser_sessions;
  v_now timestamptz;
begin
  select * into s from omicron.browser_sessions where id = p_session and user_id = coalesce(p_user, user_id) for update;
  if s.id is null then
    return jsonb_build_object('outcome', 'not_found');
  end if;
  v_now := clock_timestamp();
  if p_epoch is not null and p_epoch <> s.epoch then
    return jsonb_build_object('outcome', 'superseded', 'session', to_jsonb(s));
  end if;
  if s.status = 'hibernated' and s.expires_at > v_now then
    return jsonb_build_object('outcome', 'hibernated', 'session', to_jsonb(s));
  end if;
  if s.status not in ('starting', 'ready') or s.expires_at <= v_now then
    return jsonb_build_object('outcome', 'ended', 'session', to_jsonb(s));
  end if;
  update omicron.browser_sessions
     set last_used_at = v_now, released_at = null,
         expires_at = greatest(expires_at, least(v_now + make_interval(secs => ttl_seconds), ends_at))
   where id = s.id returning * into s;
  return jsonb_build_object('outcome', 'renewed', 'session', to_jsonb(s));
end $$;

-- A runner reports calls and asks for the milliseconds left. Null: its lease is over. Never revives a lease.
create or replace function omicron.report_activity(p_session uuid, p_epoch integer, p_runner uuid, p_calls integer) returns bigint
language plpgsql as $$
declare
  s omicron.browser_sessions;
  r omicron.runners;
  v_now timestamptz;
begin
  select * into s from omicron.browser_sessions where id = p_session for update;
  select * into r from omicron.runners where id = p_runner for update;
  v_now := clock_timestamp();
  if s.id is null or s.epoch <> p_epoch or s.runner_id is distinct from p_runner or r.state is distinct from 'leased'
     or s.status not in ('starting', 'ready') or s.expires_at <= v_now then
    return null;
  end if;
  if p_calls > 0 then
    update omicron.browser_sessions
       set last_used_at = v_now,
           -- a report may be late: its calls may be of before the release
           released_at = case when released_at > v_now - interval '20 seconds' then released_at end,
           expires_at = greatest(expires_at, least(v_now + make_interval(secs => ttl_seconds), ends_at))
     where id = s.id returning * into s;
  end if;
  update omicron.runners set seen_at = v_now, deadline_at = greatest(deadline_at, s.expires_at) where id = r.id;
  return floor(extract(epoch from s.expires_at - v_now) * 1000);
end $$;

-- For how long the platform holds the lease yet: half of its time to live from its last use, until it is released. Its browser is
-- not frozen in that time. Clients of this repository send a heartbeat after a third.
create or replace function omicron.held_ms(s omicron.browser_sessions) returns bigint
language sql as $$
  select case when s.released_at is null
    then greatest(0, floor(extract(epoch from s.last_used_at + make_interval(secs => s.ttl_seconds / 2.0) - clock_timestamp()) * 1000))::bigint
    else 0 end
$$;
