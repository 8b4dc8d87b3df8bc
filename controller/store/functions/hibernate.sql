-- Hibernation: the runner of a lease brings what its browser holds, a snapshot, and is given back; the session stays. The snapshot
-- is a version of a private profile, so that objects, keys and quotas are those of profiles.

-- Whether a lease is about to expire for want of use: in the last tenth of its time to live, of at least 2 and at most 30 s. One at
-- its maximum age ends.
create or replace function omicron.expires_soon(s omicron.browser_sessions) returns boolean
language sql stable as $$
  select s.expires_at < s.ends_at
     and s.expires_at < clock_timestamp() + make_interval(secs => least(30, greatest(2, s.ttl_seconds / 10.0)))
$$;

-- Chooses ready leases that are hibernated instead of expiring, and for how long nothing has used them: {id, idle_seconds}. No replica chooses one
-- again for 20 s, the time that its runner has, nor before it would have expired, if that is earlier: with a use it is chosen before its next expiry.
create or replace function omicron.expiring_leases(p_provider text, p_most integer) returns setof jsonb
language sql as $$
  with chosen as (
    select id from omicron.browser_sessions s
     where status = 'ready' and options ->> 'hibernate' = 'expiry' and provider = p_provider
       and due_at < (select clock_timestamp()) + interval '30 seconds' -- by its index; those that are due later expire later
       and expires_at > (select clock_timestamp()) and expires_at < (select clock_timestamp()) + interval '30 seconds'
       and coalesce(yields_until <= (select clock_timestamp()), true)
       and omicron.expires_soon(s)
     order by expires_at limit p_most for update skip locked)
  update omicron.browser_sessions s set yields_until = least(expires_at, clock_timestamp() + interval '20 seconds')
    from chosen where s.id = chosen.id
  returning jsonb_build_object('id', s.id, 'idle_seconds', floor(extract(epoch from clock_timestamp() - s.last_used_at)))
$$;

-- Why this runner may not hibernate its lease; null: it may. The caller has locked session and runner.
create or replace function omicron.hibernation_refusal(s omicron.browser_sessions, r omicron.runners, p_epoch integer, p_idle_seconds integer)
returns jsonb language plpgsql as $$
declare
  v_now timestamptz := clock_timestamp();
begin
  if s.status is distinct from 'ready' or s.epoch <> p_epoch or s.runner_id is distinct from r.id or r.state <> 'leased'
     or s.expires_at <= v_now then
    return jsonb_build_object('outcome', 'refused', 'code', 'lease_superseded');
  end if;
  if s.last_used_at > v_now - make_interval(secs => p_idle_seconds) then
    return jsonb_build_object('outcome', 'refused', 'code', 'lease_in_use');
  end if;
  return null;
end $$;

-- Before the snapshot is written: its private profile, which this runner alone may write; or the refusal.
create or replace function omicron.begin_hibernation(p_session uuid, p_epoch integer, p_runner uuid, p_idle_seconds integer) returns jsonb
language plpgsql as $$
declare
  s omicron.browser_sessions;
  r omicron.runners;
  p omicron.profiles;
  v_refusal jsonb;
begin
  -- as for any profile that is made: the key must not go under it
  perform pg_advisory_xact_lock(hashtextextended('omicron.user:' || user_id, 0)) from omicron.browser_sessions where id = p_session;
  select * into s from omicron.browser_sessions where id = p_session for update;
  select * into r from omicron.runners where id = p_runner for update;
  v_refusal := omicron.hibernation_refusal(s, r, p_epoch, p_idle_seconds);
  if v_refusal is not null then
    return v_refusal;
  end if;
  insert into omicron.profiles as own (user_id, name, session_id, writer) values (s.user_id, '.' || s.id, s.id, r.id)
  on conflict (session_id) do update set writer = excluded.writer
  returning * into p;
  return omicron.profile_content(p, p.version);
end $$;

-- Keeps the snapshot and gives the runner back, in one step. Null: the session is hibernated; else the refusal.
create or replace function omicron.hibernate(p_session uuid, p_epoch integer, p_runner uuid, p_idle_seconds integer, p_keep_seconds integer,
  p_why text, p_profile uuid, p_base integer, p_object text, p_digest text, p_bytes bigint, p_tabs integer) returns jsonb
language plpgsql as $$
declare
  s omicron.browser_sessions;
  r omicron.runners;
  v_refusal jsonb;
  v_until timestamptz;
begin
  select * into s from omicron.browser_sessions where id = p_session for update;
  select * into r from omicron.runners where id = p_runner for update;
  v_refusal := coalesce(omicron.hibernation_refusal(s, r, p_epoch, p_idle_seconds),
    case when p_why = 'idle' and not omicron.expires_soon(s) then jsonb_build_object('outcome', 'refused', 'code', 'lease_in_use') end);
  if v_refusal is not null then
    update omicron.profile_objects set state = 'removing' where name = p_object and state = 'writing';
    return v_refusal;
  end if;
  v_refusal := omicron.commit_save(p_profile, p_base, p_runner, p_object, 'light', p_digest, p_bytes, '{}', '[]', 1);
  if v_refusal is not null then
    return v_refusal;
  end if;
  v_until := clock_timestamp() + make_interval(secs => p_keep_seconds);
  update omicron.profiles set writer = null where id = p_profile;
  update omicron.browser_sessions
     set status = 'hibernated', hibernated_until = v_until, expires_at = v_until, ends_at = v_until,
         claim_id = null, claim_until = null, starting_since = null, mcp_url = null, pod_name = null, service_name = null
   where id = s.id;
  perform omicron.drain_runner(r.id, 'hibernated');
  perform omicron.write_event(s.id, s.epoch, 'session.hibernated',
    jsonb_build_object('why', p_why, 'tabs', p_tabs, 'bytes', p_bytes, 'until', v_until));
  return null;
end $$;
