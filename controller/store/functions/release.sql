-- The platform lets its lease go without ending it (O25): it lives for its time to live, and gives way to another lease meanwhile.
-- {outcome: released | not_found | superseded | ended, session}
create or replace function omicron.release_lease(p_session uuid, p_user text, p_epoch integer) returns jsonb
language plpgsql as $$
declare
  s omicron.browser_sessions;
begin
  select * into s from omicron.browser_sessions where id = p_session and user_id = coalesce(p_user, user_id) for update;
  if s.id is null then
    return jsonb_build_object('outcome', 'not_found');
  end if;
  if p_epoch is not null and p_epoch <> s.epoch then
    return jsonb_build_object('outcome', 'superseded', 'session', to_jsonb(s));
  end if;
  if s.status not in ('starting', 'ready', 'hibernated') or s.expires_at <= clock_timestamp() then
    return jsonb_build_object('outcome', 'ended', 'session', to_jsonb(s));
  end if;
  update omicron.browser_sessions
     set yields_until = case when released_at is not null then yields_until end, released_at = coalesce(released_at, clock_timestamp())
   where id = s.id and status <> 'hibernated' returning * into s;
  if not found then
    select * into s from omicron.browser_sessions where id = p_session;
  end if;
  return jsonb_build_object('outcome', 'released', 'session', to_jsonb(s));
end $$;

-- Chooses released leases that give way to callers in the line, the longest released first: {id, hibernates}. As many as callers are in it, less
-- the places that are free or come free: of runners that drain, and of leases that were chosen before. Each is chosen once.
create or replace function omicron.yield_leases(p_provider text, p_template text, p_most integer) returns setof jsonb
language plpgsql as $$
declare
  v_now timestamptz;
  v_missing bigint;
begin
  perform pg_advisory_xact_lock(hashtextextended('omicron.line:' || p_provider, 0));
  v_now := clock_timestamp();
  select count(*) into v_missing from omicron.waiting_callers where provider = p_provider and greatest(waits_until, kept_until) > v_now;
  v_missing := v_missing - omicron.free_places(p_provider, p_template, v_missing)
    - (select count(*) from omicron.runners where state = 'draining' and provider = p_provider)
    - (select count(*) from omicron.browser_sessions
        where status = 'ready' and released_at is not null and provider = p_provider and yields_until > v_now);
  return query
    update omicron.browser_sessions s set yields_until = v_now + interval '30 seconds'
      from (select id from omicron.browser_sessions
             where status = 'ready' and released_at is not null and provider = p_provider and expires_at > v_now
               and coalesce(yields_until <= v_now, true)
             order by released_at limit greatest(0, least(v_missing, p_most)) for update skip locked) chosen
     where s.id = chosen.id
    returning jsonb_build_object('id', s.id, 'hibernates', coalesce(s.options ->> 'hibernate' = 'expiry', false));
end $$;

-- The same for controllers that choose by themselves, until the last of them is replaced.
create or replace function omicron.released_leases(p_provider text, p_most integer) returns setof jsonb
language sql stable as $$
  select jsonb_build_object('id', id, 'hibernates', coalesce(options ->> 'hibernate' = 'expiry', false)) from omicron.browser_sessions
   where status = 'ready' and released_at is not null and provider = p_provider and expires_at > (select clock_timestamp())
   order by released_at limit p_most
$$;

-- Ends a lease that gives way. False: it is held again, or over.
create or replace function omicron.end_released(p_session uuid) returns boolean
language plpgsql as $$
declare
  s omicron.browser_sessions;
begin
  select * into s from omicron.browser_sessions where id = p_session for update;
  if s.status is distinct from 'ready' or s.released_at is null then
    return false;
  end if;
  perform omicron.close_lease(s, 'ended', 'evicted', null);
  return true;
end $$;
