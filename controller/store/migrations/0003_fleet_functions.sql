-- Runners: intent is written before the effect, states only move forward, and whoever works at a row holds `work_until`.

-- Makes the number of permits the cap. Held ones above it go when they are given back.
create function omicron.set_capacity(p_most integer) returns void
language plpgsql as $$
begin
  insert into omicron.permits (slot) select n from generate_series(1, p_most) n on conflict do nothing;
  delete from omicron.permits
   where slot in (select slot from omicron.permits where slot > p_most and runner_id is null for update skip locked);
end $$;

-- The pool's step: brings unleased runners of this template to `p_idle`, at most `p_burst` new ones at once; those of another
-- template and those too many go `draining` here, before anything is deleted. Returns how many intents were written.
create function omicron.plan_pool(p_provider text, p_template text, p_idle integer, p_burst integer) returns integer
language plpgsql as $$
declare
  v_missing integer;
  v_slot integer;
  v_runner uuid;
  v_created integer := 0;
begin
  perform pg_advisory_xact_lock(hashtextextended('omicron.pool:' || p_provider, 0));
  perform omicron.drain_runner(id, 'template changed') from (select id from omicron.runners
                 where state in ('creating', 'warm') and session_id is null and provider = p_provider and template <> p_template
                 for update skip locked) stale;
  select p_idle - count(*) into v_missing from omicron.runners
   where state in ('creating', 'warm') and session_id is null and provider = p_provider and template = p_template;
  if v_missing < 0 then
    perform omicron.drain_runner(id, 'pool is full') from (select id from omicron.runners
                   where state in ('creating', 'warm') and session_id is null and provider = p_provider and template = p_template
                   order by created_at desc limit -v_missing for update skip locked) spare;
  end if;
  while v_created < least(v_missing, p_burst) loop
    select slot into v_slot from omicron.permits where runner_id is null order by slot limit 1 for update skip locked;
    exit when v_slot is null;
    insert into omicron.runners (provider, template) values (p_provider, p_template) returning id into v_runner;
    update omicron.permits set runner_id = v_runner where slot = v_slot;
    v_created := v_created + 1;
  end loop;
  return v_created;
end $$;

-- Hands out rows to launch or to drain; each to one worker until `work_until`.
create function omicron.take_work(p_provider text, p_state text, p_most integer, p_work_seconds integer) returns setof omicron.runners
language sql as $$
  update omicron.runners set work_until = clock_timestamp() + make_interval(secs => p_work_seconds)
   where id in (select id from omicron.runners
                 where provider = p_provider and state = p_state and state in ('creating', 'draining')
                   and work_until < (select clock_timestamp())
                 order by created_at limit p_most for update skip locked)
  returning *
$$;

-- A launch ended whose runner nobody wants any more: it may be removed at once, not when the launcher's turn has passed.
create function omicron.launch_over(p_runner uuid) returns void
language sql as $$
  update omicron.runners set work_until = '-infinity' where id = p_runner and state = 'draining'
$$;

-- A runner came up: warm, or claimed when a lease is waiting for it. Null: nobody wants it any more.
create function omicron.runner_up(p_runner uuid, p_boot uuid, p_endpoint text) returns text
language plpgsql as $$
declare
  r omicron.runners;
begin
  select * into r from omicron.runners where id = p_runner;
  if r.session_id is not null then
    perform from omicron.browser_sessions where id = r.session_id for update;
  end if;
  update omicron.runners
     set state = case when session_id is null then 'warm' else 'claimed' end, boot_id = p_boot, endpoint = p_endpoint,
         warm_at = clock_timestamp(), seen_at = clock_timestamp()
   where id = p_runner and state = 'creating' returning * into r;
  if found then
    return r.state;
  end if;
  perform omicron.launch_over(p_runner);
  return null;
end $$;

-- A runner died. `ended`: its process is known to have ended; `leaving`: it is on its way out and may still act;
-- `not_started`: its launch was given up, which counts only while it is creating: another worker may have seen it come up.
-- Its lease, if it lives, becomes an error that says so; a new request starts a new epoch. A runner closes by its own clock
-- half a second before its lease's end: then the lease has expired, and nothing was lost.
-- 'lost' | 'expired': what became of its lease. 'nothing': it had none. Null: it was claimed meanwhile, call again.
create function omicron.runner_lost(p_runner uuid, p_how text, p_reason text, p_error text) returns text
language plpgsql as $$
declare
  s omicron.browser_sessions;
  r omicron.runners;
  v_outcome text := 'nothing';
begin
  select * into r from omicron.runners where id = p_runner;
  if r.session_id is not null then
    select * into s from omicron.browser_sessions where id = r.session_id for update;
  end if;
  select * into r from omicron.runners where id = p_runner for update;
  if r.id is null or r.state = 'gone' or (p_how = 'not_started' and r.state <> 'creating') then
    perform omicron.launch_over(p_runner);
    return v_outcome;
  end if;
  if r.session_id is distinct from s.id then -- claimed between the two reads; the session must be locked first
    return null;
  end if;
  if s.runner_id = r.id and s.epoch = r.epoch and s.status in ('starting', 'ready') then
    if s.status = 'ready' and s.expires_at <= clock_timestamp() + interval '1 second' then
      perform omicron.expire_lease(s);
      v_outcome := 'expired';
    else
      perform omicron.close_lease(s, 'error', p_reason, p_error);
      v_outcome := 'lost';
    end if;
  end if;
  perform omicron.drain_runner(r.id, p_reason || ': ' || p_error);
  -- whoever says this is done with it; and only an ended process serves nobody for certain
  update omicron.runners
     set work_until = '-infinity',
         acknowledged_at = case when p_how = 'ended' then coalesce(acknowledged_at, clock_timestamp()) else acknowledged_at end
   where id = r.id;
  return v_outcome;
end $$;

-- The runner said that it serves nobody any more.
create function omicron.drain_acknowledged(p_runner uuid) returns void
language sql as $$
  update omicron.runners set acknowledged_at = coalesce(acknowledged_at, clock_timestamp()) where id = p_runner and state = 'draining'
$$;

-- Its process and its files are gone: the permit is free. A recorded lease that left no video gets a recorded loss.
create function omicron.runner_gone(p_runner uuid) returns void
language plpgsql as $$
declare
  r omicron.runners;
begin
  update omicron.runners set state = 'gone', gone_at = clock_timestamp(), acknowledged_at = coalesce(acknowledged_at, clock_timestamp())
   where id = p_runner and state = 'draining' returning * into r;
  if not found then
    return;
  end if;
  update omicron.permits set runner_id = null where runner_id = p_runner;
  if r.redeemed_at is not null then
    insert into omicron.artifacts (session_id, epoch, runner_id, name, state, reason)
    select r.session_id, r.epoch, r.id, 'recording', 'lost', 'The runner ended and left no recording.'
     where r.recorded and not exists (select from omicron.artifacts where runner_id = r.id);
    perform omicron.write_event(r.session_id, r.epoch, 'runner.gone', jsonb_build_object('runner_id', r.id, 'reason', r.reason));
  end if;
end $$;

-- Who a report speaks for: the lease of this epoch, living or over, if this runner ever held it.
create function omicron.held_lease(p_session uuid, p_epoch integer, p_runner uuid) returns boolean
language sql stable as $$
  select exists (select from omicron.runners
                  where id = p_runner and session_id = p_session and epoch = p_epoch and redeemed_at is not null)
$$;

-- False: this runner never held that lease. A repeated event is written once.
create function omicron.write_events(p_session uuid, p_epoch integer, p_runner uuid, p_events jsonb) returns boolean
language plpgsql as $$
begin
  if not omicron.held_lease(p_session, p_epoch, p_runner) then
    return false;
  end if;
  insert into omicron.session_events (event_id, session_id, epoch, at, kind, data)
  select e.id, p_session, p_epoch, clock_timestamp() - make_interval(secs => e.age_ms / 1000), e.kind, e.data
    from jsonb_to_recordset(p_events) as e(id uuid, age_ms double precision, kind text, data jsonb)
   order by e.age_ms desc
  on conflict (event_id) do nothing;
  return true;
end $$;

-- A stored recording is never made a loss by a late report; a loss may turn out stored.
create function omicron.write_artifact(p_session uuid, p_epoch integer, p_runner uuid, p_name text, p_state text, p_uri text,
  p_bytes bigint, p_reason text) returns boolean
language plpgsql as $$
begin
  if not omicron.held_lease(p_session, p_epoch, p_runner) then
    return false;
  end if;
  insert into omicron.artifacts (session_id, epoch, runner_id, name, state, uri, bytes, reason)
    values (p_session, p_epoch, p_runner, p_name, p_state, p_uri, p_bytes, p_reason)
  on conflict (runner_id, name) do update
    set state = excluded.state, uri = excluded.uri, bytes = excluded.bytes, reason = excluded.reason
    where omicron.artifacts.state = 'lost' and excluded.state = 'stored';
  if found then
    perform omicron.write_event(p_session, p_epoch, 'artifact.' || p_state,
      jsonb_strip_nulls(jsonb_build_object('name', p_name, 'uri', p_uri, 'bytes', p_bytes, 'reason', p_reason)));
  end if;
  return true;
end $$;

-- The local stack stops: its runners cannot outlive it, so its leases end here and say why.
create function omicron.end_all(p_provider text) returns void
language plpgsql as $$
declare
  v_id uuid;
begin
  for v_id in
    select id from omicron.browser_sessions where provider = p_provider and status in ('starting', 'ready') order by id
  loop
    perform omicron.end_lease(v_id, null, null, 'shutdown');
  end loop;
  update omicron.runners set state = 'draining', draining_at = clock_timestamp(), reason = 'shutdown', work_until = '-infinity'
   where provider = p_provider and state not in ('draining', 'gone');
end $$;
