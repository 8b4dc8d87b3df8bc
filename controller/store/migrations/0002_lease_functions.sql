-- The lease protocol: one function a step. Each locks the session, then the runner, and only then reads the clock, in a
-- statement after the locks, so that a step that waited judges the time at which it goes on.

create function omicron.write_event(p_session uuid, p_epoch integer, p_kind text, p_data jsonb default '{}') returns void
language sql as $$
  insert into omicron.session_events (session_id, epoch, kind, data) values (p_session, p_epoch, p_kind, p_data)
$$;

-- Sends a runner on its way out; never touches one that is already going. A launch under way keeps its turn: a runner must
-- not be removed while the call that creates it may still land.
create function omicron.drain_runner(p_runner uuid, p_reason text) returns void
language sql as $$
  update omicron.runners
     set state = 'draining', draining_at = clock_timestamp(), reason = p_reason,
         work_until = case when state = 'creating' then work_until else '-infinity' end
   where id = p_runner and state not in ('draining', 'gone')
$$;

-- Ends the lease that the caller holds locked. `p_status`: ended or error.
create function omicron.close_lease(s omicron.browser_sessions, p_status text, p_reason text, p_error text) returns void
language plpgsql as $$
begin
  update omicron.browser_sessions
     set status = p_status, ended_reason = p_reason, error = p_error,
         claim_id = null, claim_until = null, starting_since = null, mcp_url = null, pod_name = null, service_name = null
   where id = s.id;
  perform omicron.drain_runner(s.runner_id, p_reason);
  perform omicron.write_event(s.id, s.epoch, 'session.' || p_status,
    jsonb_strip_nulls(jsonb_build_object('reason', p_reason, 'error', p_error)));
end $$;

-- Ends the lease that the caller holds locked because its time is over.
create function omicron.expire_lease(s omicron.browser_sessions) returns void
language plpgsql as $$
begin
  perform omicron.close_lease(s, 'ended', case when s.expires_at >= s.ends_at then 'max_age' else 'expired' end, null);
end $$;

-- Step 2 and 3: renew a living lease, or claim a new epoch with a runner of its own; all or nothing.
--   {outcome: renewed | claimed | starting | refused, ...}
-- `p_claim` names this call: a repeated call finds its own claim again. `p_abandon` is a claim of the same caller whose
-- runner failed: it is given up for a new epoch in this step.
create function omicron.acquire(
  p_user text, p_conversation text, p_claim uuid, p_abandon uuid, p_ttl_seconds integer, p_max_session_seconds integer,
  p_options jsonb, p_tags jsonb, p_provider text, p_template text, p_namespace text,
  p_user_limit integer, p_on_user_limit text, p_claim_seconds integer, p_start_seconds integer
) returns jsonb
language plpgsql as $$
declare
  s omicron.browser_sessions;
  r omicron.runners;
  v_now timestamptz;
  v_active integer;
  v_free_at timestamptz;
  v_inherit boolean := false;
  v_runner uuid;
  v_slot integer;
  v_victim record;
begin
  -- A lease whose expiry would move by less than a second is answered without a write.
  select x.* into s from omicron.browser_sessions x
    join omicron.runners y on y.id = x.runner_id and y.epoch = x.epoch and y.state = 'leased'
   where x.user_id = p_user and x.conversation_id = p_conversation and x.status = 'ready';
  if found then
    v_now := clock_timestamp();
    if s.expires_at > v_now and s.ttl_seconds = p_ttl_seconds and (p_tags is null or s.tags = p_tags)
       and s.expires_at >= least(v_now + make_interval(secs => p_ttl_seconds - 1), s.ends_at) then
      return jsonb_build_object('outcome', 'renewed', 'session', to_jsonb(s));
    end if;
  end if;

  -- Per user, so that a count is exact; always before the first session lock, so that nobody waits in a circle.
  perform pg_advisory_xact_lock(hashtextextended('omicron.user:' || p_user, 0));
  s := null;
  select * into s from omicron.browser_sessions where user_id = p_user and conversation_id = p_conversation for update;
  if s.runner_id is not null then
    select * into r from omicron.runners where id = s.runner_id for update;
  end if;
  v_now := clock_timestamp();

  if s.status = 'ready' and s.expires_at > v_now and r.state = 'leased' and r.epoch = s.epoch then
    update omicron.browser_sessions
       set expires_at = greatest(expires_at, least(v_now + make_interval(secs => p_ttl_seconds), ends_at)),
           ttl_seconds = p_ttl_seconds, last_used_at = v_now, tags = coalesce(p_tags, tags), archived_at = null
     where id = s.id returning * into s;
    return jsonb_build_object('outcome', 'renewed', 'session', to_jsonb(s));
  end if;

  if s.status = 'starting' and s.claim_id = p_claim then -- the answer to this very call was lost on its way
    return jsonb_build_object('outcome', 'claimed', 'session', to_jsonb(s), 'runner', to_jsonb(r));
  end if;
  if s.status = 'starting' and s.claim_id is distinct from p_abandon and s.expires_at > v_now and s.claim_until > v_now
     and s.starting_since > v_now - make_interval(secs => p_start_seconds) and r.state in ('creating', 'claimed', 'leased') then
    return jsonb_build_object('outcome', 'starting', 'session', to_jsonb(s));
  end if;

  -- The user's quota counts what lives, not what waits to be reaped.
  select count(*), min(expires_at) into v_active, v_free_at from omicron.browser_sessions
   where user_id = p_user and status in ('starting', 'ready') and expires_at > v_now and id is distinct from s.id;
  if v_active >= p_user_limit then
    if p_on_user_limit <> 'evict_oldest' then
      return jsonb_build_object('outcome', 'refused', 'code', 'user_quota_exceeded', 'limit', p_user_limit,
        'active', v_active, 'retry_after_ms', ceil(extract(epoch from v_free_at - v_now) * 1000));
    end if;
  end if;

  -- A runner that has not obeyed its drain for so long is out of reach: whoever came next would only wait for its deadline.
  select max(deadline_at) into v_free_at from omicron.runners
   where session_id = s.id and redeemed_at is not null and state = 'draining' and acknowledged_at is null
     and deadline_at > v_now and draining_at < v_now - interval '20 seconds';
  if v_free_at is not null then
    return jsonb_build_object('outcome', 'refused', 'code', 'predecessor_draining', 'limit', 1, 'active', 1,
      'retry_after_ms', ceil(extract(epoch from v_free_at - v_now) * 1000));
  end if;

  -- One epoch is one runner. A runner that was sent nothing yet goes over to the new epoch; else a new one is taken.
  v_inherit := s.status = 'starting' and r.state in ('creating', 'claimed') and r.assigned_at is null
    and r.provider = p_provider and s.expires_at > v_now
    and s.starting_since > v_now - make_interval(secs => p_start_seconds);
  if v_inherit then
    v_runner := r.id;
  else
    select id into v_runner from omicron.runners
     where state = 'warm' and provider = p_provider and template = p_template
     order by warm_at limit 1 for update skip locked;
    if v_runner is null then -- one that the pool is already making
      select id into v_runner from omicron.runners
       where state = 'creating' and session_id is null and provider = p_provider and template = p_template
       order by created_at limit 1 for update skip locked;
    end if;
    if v_runner is null then
      select slot into v_slot from omicron.permits where runner_id is null order by slot limit 1 for update skip locked;
      if v_slot is null then
        select count(*) into v_active from omicron.permits where runner_id is not null;
        select min(expires_at) into v_free_at from omicron.browser_sessions
         where status in ('starting', 'ready') and expires_at > v_now;
        if exists (select from omicron.runners where state = 'draining') then -- a place is being cleared right now
          v_free_at := least(v_free_at, v_now + interval '1 second');
        end if;
        return jsonb_build_object('outcome', 'refused', 'code', 'capacity_exceeded',
          'limit', (select count(*) from omicron.permits), 'active', v_active,
          'retry_after_ms', ceil(extract(epoch from coalesce(v_free_at, v_now + interval '1 second') - v_now) * 1000));
      end if;
      insert into omicron.runners (provider, template) values (p_provider, p_template) returning id into v_runner;
      update omicron.permits set runner_id = v_runner where slot = v_slot;
    end if;
  end if;

  if v_active >= p_user_limit and p_on_user_limit = 'evict_oldest' then
    for v_victim in
      select id from omicron.browser_sessions
       where user_id = p_user and status in ('starting', 'ready') and expires_at > v_now and id is distinct from s.id
       order by last_used_at limit v_active - p_user_limit + 1
    loop
      perform omicron.end_lease(v_victim.id, null, null, 'evicted');
    end loop;
  end if;

  if s.id is null then
    insert into omicron.browser_sessions (user_id, conversation_id, status, k8s_namespace, provider, epoch, runner_id,
        claim_id, claim_until, starting_since, ttl_seconds, expires_at, ends_at, options, tags, last_used_at)
      values (p_user, p_conversation, 'starting', p_namespace, p_provider, 1, v_runner,
        p_claim, v_now + make_interval(secs => p_claim_seconds), v_now, p_ttl_seconds,
        v_now + make_interval(secs => least(greatest(p_ttl_seconds, p_claim_seconds), p_max_session_seconds)),
        v_now + make_interval(secs => p_max_session_seconds), p_options, coalesce(p_tags, '{}'), v_now)
      returning * into s;
  else
    if not v_inherit then
      perform omicron.drain_runner(s.runner_id, 'superseded');
    end if;
    update omicron.browser_sessions
       set status = 'starting', epoch = s.epoch + 1, runner_id = v_runner, provider = p_provider, k8s_namespace = p_namespace,
           claim_id = p_claim, claim_until = v_now + make_interval(secs => p_claim_seconds),
           starting_since = case when v_inherit then starting_since else v_now end, -- or inheriting would have no end
           ttl_seconds = p_ttl_seconds,
           expires_at = v_now + make_interval(secs => least(greatest(p_ttl_seconds, p_claim_seconds), p_max_session_seconds)),
           ends_at = v_now + make_interval(secs => p_max_session_seconds),
           options = p_options, tags = coalesce(p_tags, tags), last_used_at = v_now, archived_at = null,
           mcp_url = null, pod_name = null, service_name = null, artifacts_s3_prefix = null, ended_reason = null, error = null
     where id = s.id returning * into s;
  end if;
  -- The claimer of a warm runner sends the assignment at once: from here on it may have been sent.
  update omicron.runners
     set session_id = s.id, epoch = s.epoch, recorded = (p_options ->> 'record_video')::boolean,
         state = case when state = 'warm' then 'claimed' else state end,
         assigned_at = case when state = 'warm' then v_now else assigned_at end
   where id = v_runner returning * into r;
  perform omicron.write_event(s.id, s.epoch, 'session.claimed',
    jsonb_build_object('runner_id', r.id, 'warm', r.assigned_at is not null));
  return jsonb_build_object('outcome', 'claimed', 'session', to_jsonb(s), 'runner', to_jsonb(r));
end $$;

-- A live claimer says so. False: the claim is somebody else's, or too old to be kept.
create function omicron.beat_claim(p_session uuid, p_epoch integer, p_claim uuid, p_claim_seconds integer, p_start_seconds integer)
returns boolean language plpgsql as $$
begin
  perform from omicron.browser_sessions where id = p_session for update;
  update omicron.browser_sessions
     set claim_until = clock_timestamp() + make_interval(secs => p_claim_seconds),
         expires_at = least(greatest(expires_at, clock_timestamp() + make_interval(secs => p_claim_seconds)), ends_at)
   where id = p_session and epoch = p_epoch and claim_id = p_claim and status = 'starting' and expires_at > clock_timestamp()
     and starting_since > clock_timestamp() - make_interval(secs => p_start_seconds);
  return found;
end $$;

-- Before an assignment is sent to a runner that came up after the claim; repeating it answers the same. Null: it must not
-- be sent.
create function omicron.begin_assignment(p_session uuid, p_epoch integer, p_claim uuid) returns jsonb
language plpgsql as $$
declare
  s omicron.browser_sessions;
  r omicron.runners;
begin
  select * into s from omicron.browser_sessions where id = p_session for update;
  if s.status is distinct from 'starting' or s.epoch <> p_epoch or s.claim_id <> p_claim then
    return null;
  end if;
  update omicron.runners set assigned_at = coalesce(assigned_at, clock_timestamp())
   where id = s.runner_id and epoch = p_epoch and state = 'claimed' returning * into r;
  return case when found then to_jsonb(r) end;
end $$;

-- Step 5, the point of truth: until this says `redeemed` a runner is nobody's.
--   {outcome: redeemed, user_id, remaining_ms, now_ms} | {outcome: wait} | {outcome: refused, why}
create function omicron.redeem(p_session uuid, p_epoch integer, p_claim uuid, p_runner uuid, p_boot uuid, p_token_expires timestamptz)
returns jsonb language plpgsql as $$
declare
  s omicron.browser_sessions;
  r omicron.runners;
  v_now timestamptz;
  v_why text;
begin
  select * into s from omicron.browser_sessions where id = p_session for update;
  select * into r from omicron.runners where id = p_runner for update;
  v_now := clock_timestamp();
  v_why := case
    when s.id is null or r.id is null then 'unknown'
    when p_token_expires <= v_now then 'token expired'
    when s.epoch <> p_epoch or s.claim_id is distinct from p_claim then 'superseded'
    when s.status <> 'starting' then 'not starting'
    when s.expires_at <= v_now then 'lease expired'
    when r.session_id is distinct from s.id or r.epoch is distinct from s.epoch or s.runner_id <> r.id then 'other runner'
    when r.boot_id is distinct from p_boot then 'other boot'
    when r.state <> 'claimed' then 'already redeemed'
  end;
  if v_why is not null then
    return jsonb_build_object('outcome', 'refused', 'why', v_why);
  end if;
  -- The runner before may still act for this session until it is gone, has said that it stopped, or is past its deadline.
  if exists (select from omicron.runners
              where session_id = s.id and epoch < p_epoch and redeemed_at is not null and state <> 'gone'
                and acknowledged_at is null and deadline_at > v_now) then
    return jsonb_build_object('outcome', 'wait');
  end if;
  update omicron.runners set state = 'leased', redeemed_at = v_now, seen_at = v_now, deadline_at = s.expires_at where id = r.id;
  return jsonb_build_object('outcome', 'redeemed', 'user_id', s.user_id,
    'remaining_ms', floor(extract(epoch from s.expires_at - v_now) * 1000),
    'ends_in_seconds', ceil(extract(epoch from s.ends_at - v_now)),
    'now_ms', floor(extract(epoch from v_now) * 1000));
end $$;

-- Step 6. Null: somebody else won, read again. A repeated call whose answer was lost finds its lease ready.
create function omicron.make_ready(p_session uuid, p_epoch integer, p_claim uuid, p_mcp_url text, p_workload text, p_prefix text)
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
         -- may be sooner than the start was given; what the runner was told stands in its row's deadline
         expires_at = least(v_now + make_interval(secs => ttl_seconds), ends_at)
   where id = s.id returning * into s;
  perform omicron.write_event(s.id, s.epoch, 'session.ready', jsonb_build_object('runner_id', r.id,
    'start_ms', round(extract(epoch from v_now - s.starting_since) * 1000)));
  return to_jsonb(s);
end $$;

-- The claimer gives up: its start failed for a reason that a new runner would not mend.
create function omicron.fail_claim(p_session uuid, p_epoch integer, p_claim uuid, p_reason text, p_error text) returns boolean
language plpgsql as $$
declare
  s omicron.browser_sessions;
begin
  select * into s from omicron.browser_sessions where id = p_session for update;
  if s.status is distinct from 'starting' or s.epoch <> p_epoch or s.claim_id is distinct from p_claim then
    return false;
  end if;
  perform omicron.close_lease(s, 'error', p_reason, p_error);
  return true;
end $$;

-- O2. Null epoch: whichever is current. {outcome: renewed | not_found | superseded | ended, session}
create function omicron.heartbeat(p_session uuid, p_user text, p_epoch integer) returns jsonb
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
  if s.status not in ('starting', 'ready') or s.expires_at <= v_now then
    return jsonb_build_object('outcome', 'ended', 'session', to_jsonb(s));
  end if;
  update omicron.browser_sessions
     set last_used_at = v_now,
         expires_at = greatest(expires_at, least(v_now + make_interval(secs => ttl_seconds), ends_at))
   where id = s.id returning * into s;
  return jsonb_build_object('outcome', 'renewed', 'session', to_jsonb(s));
end $$;

-- A runner reports calls and asks how long it may go on. Null: its lease is over. Never revives.
create function omicron.report_activity(p_session uuid, p_epoch integer, p_runner uuid, p_calls integer) returns bigint
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
           expires_at = greatest(expires_at, least(v_now + make_interval(secs => ttl_seconds), ends_at))
     where id = s.id returning * into s;
  end if;
  update omicron.runners set seen_at = v_now, deadline_at = greatest(deadline_at, s.expires_at) where id = r.id;
  return floor(extract(epoch from s.expires_at - v_now) * 1000);
end $$;

-- O3, idempotent. Null epoch: whichever is current; an older one has ended already and changes nothing.
-- {outcome: ended | already_ended | superseded | not_found, session}
create function omicron.end_lease(p_session uuid, p_user text, p_epoch integer, p_reason text) returns jsonb
language plpgsql as $$
declare
  s omicron.browser_sessions;
begin
  select * into s from omicron.browser_sessions where id = p_session and user_id = coalesce(p_user, user_id) for update;
  if s.id is null then
    return jsonb_build_object('outcome', 'not_found');
  end if;
  if p_epoch is not null and p_epoch <> s.epoch then
    return jsonb_build_object('outcome', case when p_epoch < s.epoch then 'already_ended' else 'superseded' end,
      'session', to_jsonb(s));
  end if;
  if s.status not in ('starting', 'ready') then
    return jsonb_build_object('outcome', 'already_ended', 'session', to_jsonb(s));
  end if;
  perform omicron.close_lease(s, 'ended', p_reason, null);
  select * into s from omicron.browser_sessions where id = p_session;
  return jsonb_build_object('outcome', 'ended', 'session', to_jsonb(s));
end $$;

-- S1: ends what lives and takes the session off the list.
create function omicron.archive(p_session uuid, p_user text) returns jsonb
language plpgsql as $$
declare
  s omicron.browser_sessions;
begin
  if omicron.end_lease(p_session, p_user, null, 'archived') ->> 'outcome' = 'not_found' then
    return null;
  end if;
  update omicron.browser_sessions set archived_at = coalesce(archived_at, clock_timestamp()) where id = p_session returning * into s;
  return to_jsonb(s);
end $$;

-- The reaper's step: ends leases whose time is over. The candidates come from the index (a scalar subquery, or the planner
-- reads the whole table); the judgement is made again under each lock.
create function omicron.expire_leases(p_most integer) returns setof uuid
language plpgsql as $$
declare
  s omicron.browser_sessions;
  v_id uuid;
begin
  for v_id in
    select id from omicron.browser_sessions
     where expires_at < (select clock_timestamp()) and status in ('starting', 'ready') order by expires_at limit p_most
  loop
    select * into s from omicron.browser_sessions where id = v_id for update skip locked;
    continue when s.id is null or s.status not in ('starting', 'ready') or s.expires_at >= clock_timestamp();
    perform omicron.expire_lease(s);
    return next s.id;
  end loop;
end $$;

-- O18: a start that has not ended in time becomes an error; the next request takes over.
create function omicron.fail_stuck_starts(p_start_seconds integer, p_most integer) returns setof uuid
language plpgsql as $$
declare
  s omicron.browser_sessions;
  v_id uuid;
begin
  for v_id in
    select id from omicron.browser_sessions
     where status = 'starting' and starting_since < clock_timestamp() - make_interval(secs => p_start_seconds) limit p_most
  loop
    select * into s from omicron.browser_sessions where id = v_id for update skip locked;
    continue when s.status is distinct from 'starting'
      or s.starting_since >= clock_timestamp() - make_interval(secs => p_start_seconds);
    perform omicron.close_lease(s, 'error', 'start_timed_out',
      format('The browser did not start within %s seconds. Ask again; if this repeats, look at the runner''s log.', p_start_seconds));
    return next s.id;
  end loop;
end $$;
