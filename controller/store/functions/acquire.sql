-- Renews a live lease, or claims a new epoch with a runner of its own; all or nothing. Like every step of the
-- protocol it locks the session, then the runner, and reads the clock in a statement after the locks: a step that
-- waited judges by the time at which it goes on.
--   {outcome: renewed | claimed | starting | evicts | refused, ...}; `claimed` says whether other leases gave way
-- `p_claim` names this call: a repeated call finds its own claim again. `p_abandon` is a claim of the same caller
-- whose runner failed: it is given up for a new epoch in this step, also if its redemption has made it ready and no caller has the answer. `p_switch_profile`: a live lease with another profile than
-- that of `p_options` is followed by a new epoch, instead of being renewed. `p_unhibernated`: leases that would be evicted are
-- hibernated by the caller first where they ask for it, which then calls again (`evicts`), except these sessions, with which it has failed;
-- null: for none. `p_waits`: where every place is taken the caller stays, in the line (join_line).
create or replace function omicron.acquire(
  p_user text, p_conversation text, p_claim uuid, p_abandon uuid, p_ttl_seconds integer, p_max_session_seconds integer,
  p_options jsonb, p_tags jsonb, p_provider text, p_template text, p_namespace text,
  p_user_limit integer, p_on_user_limit text, p_claim_seconds integer, p_start_seconds integer, p_switch_profile boolean,
  p_unhibernated uuid[] default null, p_waits boolean default false
) returns jsonb
language plpgsql as $$
declare
  s omicron.browser_sessions;
  r omicron.runners;
  v_now timestamptz;
  v_active integer;
  v_free_at timestamptz;
  v_inherit boolean := false;
  v_switches boolean;
  v_restores boolean;
  v_runner uuid;
  v_slot integer;
  v_victims uuid[] := '{}';
  v_victim uuid;
  v_hibernated uuid[];
  v_refusal jsonb;
  v_waiting_since timestamptz;
  v_options jsonb := jsonb_strip_nulls(p_options);
begin
  -- A lease that was used within a second is answered without a write.
  select x.* into s from omicron.browser_sessions x
    join omicron.runners y on y.id = x.runner_id and y.epoch = x.epoch and y.state = 'leased'
   where x.user_id = p_user and x.conversation_id = p_conversation and x.status = 'ready' and x.provider = p_provider
     and (x.claim_id = p_abandon) is not true;
  if found then
    v_now := clock_timestamp();
    if not (p_switch_profile and omicron.has_other_profile(s, p_options)) and s.expires_at > v_now
       and s.ttl_seconds = p_ttl_seconds and (p_tags is null or s.tags = p_tags) and s.last_used_at >= v_now - interval '1 second'
       and s.released_at is null
       and s.expires_at >= least(v_now + make_interval(secs => p_ttl_seconds - 1), s.ends_at) then
      return jsonb_build_object('outcome', 'renewed', 'session', to_jsonb(s));
    end if;
  end if;

  -- Per user, so that a count is exact; always before the first session lock, or two callers could deadlock.
  perform pg_advisory_xact_lock(hashtextextended('omicron.user:' || p_user, 0));
  s := null;
  select * into s from omicron.browser_sessions where user_id = p_user and conversation_id = p_conversation for update;
  if s.runner_id is not null then
    select * into r from omicron.runners where id = s.runner_id for update;
  end if;
  v_now := clock_timestamp();
  v_switches := p_switch_profile and omicron.has_other_profile(s, p_options);

  -- A live lease stays with its provider, and a controller of another one does not see its runner: it neither answers nor ends it (S3).
  if s.status in ('starting', 'ready') and s.expires_at > v_now and s.provider <> p_provider
     and r.state in ('creating', 'claimed', 'leased') then
    return jsonb_build_object('outcome', 'refused', 'code', 'provider_mismatch', 'provider', s.provider, 'limit', 1, 'active', 1,
      'retry_after_ms', ceil(extract(epoch from s.expires_at - v_now) * 1000));
  end if;

  if not v_switches and s.status = 'ready' and (s.claim_id = p_abandon) is not true
     and s.expires_at > v_now and r.state = 'leased' and r.epoch = s.epoch then
    update omicron.browser_sessions
       set expires_at = greatest(expires_at, least(v_now + make_interval(secs => p_ttl_seconds), ends_at)),
           ttl_seconds = p_ttl_seconds, last_used_at = v_now, released_at = null, tags = coalesce(p_tags, tags), archived_at = null
     where id = s.id returning * into s;
    return jsonb_build_object('outcome', 'renewed', 'session', to_jsonb(s));
  end if;

  if s.status = 'starting' and s.claim_id = p_claim then -- the answer to this very call was lost
    return jsonb_build_object('outcome', 'claimed', 'session', to_jsonb(s), 'runner', to_jsonb(r), 'evicted', false);
  end if;
  if s.status = 'starting' and s.claim_id is distinct from p_abandon and s.expires_at > v_now and s.claim_until > v_now
     and omicron.may_start(s, p_start_seconds) and r.state in ('creating', 'claimed', 'leased') then
    delete from omicron.waiting_callers where user_id = p_user and conversation_id = p_conversation;
    return jsonb_build_object('outcome', 'starting', 'session', to_jsonb(s));
  end if;

  v_restores := s.hibernated_until > v_now and not v_switches;
  if v_restores then
    if p_options ? 'profile' and omicron.has_other_profile(s, p_options) then
      return jsonb_build_object('outcome', 'refused', 'code', 'profile_mismatch', 'limit', 1, 'active', 1, 'retry_after_ms', 0,
        'holder', s.id);
    end if;
    v_options := omicron.restored_options(s, v_options);
  end if;
  if v_options ? 'profile' then
    v_refusal := omicron.claim_profile(p_user, s.id, v_options -> 'profile');
    if v_refusal is not null then
      return v_refusal;
    end if;
  end if;

  -- The user's quota counts live leases, not expired ones that the reaper has yet to end.
  select count(*), min(expires_at) into v_active, v_free_at from omicron.browser_sessions
   where user_id = p_user and status in ('starting', 'ready') and expires_at > v_now and id is distinct from s.id;
  -- At the quota released leases give way, those that were released first before others.
  if v_active >= p_user_limit then
    v_victims := array(
      select id from omicron.browser_sessions
       where user_id = p_user and status in ('starting', 'ready') and expires_at > v_now and id is distinct from s.id
         and (released_at is not null or p_on_user_limit = 'evict_oldest')
       order by released_at nulls last, last_used_at limit v_active - p_user_limit + 1);
    if cardinality(v_victims) <= v_active - p_user_limit then
      return jsonb_build_object('outcome', 'refused', 'code', 'user_quota_exceeded', 'limit', p_user_limit,
        'active', v_active, 'retry_after_ms', ceil(extract(epoch from v_free_at - v_now) * 1000));
    end if;
  end if;

  -- A runner that has ignored its drain for 20 s cannot be reached: a new claim could only wait for its deadline.
  select max(deadline_at) into v_free_at from omicron.runners
   where session_id = s.id and redeemed_at is not null and state = 'draining' and acknowledged_at is null
     and deadline_at > v_now and draining_at < v_now - interval '20 seconds';
  if v_free_at is not null then
    return jsonb_build_object('outcome', 'refused', 'code', 'predecessor_draining', 'limit', 1, 'active', 1,
      'retry_after_ms', ceil(extract(epoch from v_free_at - v_now) * 1000));
  end if;

  -- One epoch is one runner. A runner that was sent nothing is inherited by the new epoch; else a new one is taken.
  v_inherit := s.status = 'starting' and r.state in ('creating', 'claimed') and r.assigned_at is null
    and r.provider = p_provider and s.expires_at > v_now
    and s.starting_since > v_now - make_interval(secs => p_start_seconds);
  if v_inherit then
    v_runner := r.id;
  else
    v_refusal := omicron.join_line(p_user, p_conversation, p_provider, p_template, p_waits, p_user_limit, false);
    if v_refusal is not null then
      return v_refusal;
    end if;
    select id into v_runner from omicron.runners
     where state = 'warm' and provider = p_provider and template = p_template
     order by warm_at limit 1 for update skip locked;
    if v_runner is null then -- one of the template before, which the pool keeps until there are new ones
      select id into v_runner from omicron.runners
       where state = 'warm' and provider = p_provider
       order by warm_at limit 1 for update skip locked;
    end if;
    if v_runner is null then -- one that the pool is creating
      select id into v_runner from omicron.runners
       where state = 'creating' and session_id is null and provider = p_provider and template = p_template
       order by created_at limit 1 for update skip locked;
    end if;
    if v_runner is null then
      select slot into v_slot from omicron.permits where runner_id is null order by slot limit 1 for update skip locked;
      if v_slot is null then
        return omicron.join_line(p_user, p_conversation, p_provider, p_template, p_waits, p_user_limit, true);
      end if;
    end if;
  end if;

  -- Nothing is written yet: the caller hibernates those of the leases to evict that ask for it, and then asks again.
  if v_victims <> '{}' then
    v_hibernated := array(
      select id from omicron.browser_sessions
       where id = any (v_victims) and status = 'ready' and provider = p_provider and options ->> 'hibernate' = 'expiry'
         and id <> all (p_unhibernated));
    if v_hibernated <> '{}' then
      return jsonb_build_object('outcome', 'evicts', 'sessions', to_jsonb(v_hibernated));
    end if;
  end if;
  foreach v_victim in array v_victims loop
    perform omicron.end_lease(v_victim, null, null, 'evicted');
  end loop;
  if v_slot is not null then
    insert into omicron.runners (provider, template) values (p_provider, p_template) returning id into v_runner;
    update omicron.permits set runner_id = v_runner where slot = v_slot;
  end if;

  if s.id is null then
    insert into omicron.browser_sessions (user_id, conversation_id, status, k8s_namespace, provider, epoch, runner_id,
        claim_id, claim_until, starting_since, ttl_seconds, expires_at, due_at, ends_at, options, tags, last_used_at)
      values (p_user, p_conversation, 'starting', p_namespace, p_provider, omicron.first_epoch(p_user, p_conversation), v_runner,
        p_claim, v_now + make_interval(secs => p_claim_seconds), v_now, p_ttl_seconds,
        v_now + make_interval(secs => least(greatest(p_ttl_seconds, p_claim_seconds), p_max_session_seconds)),
        v_now + make_interval(secs => least(greatest(p_ttl_seconds, p_claim_seconds), p_max_session_seconds)),
        v_now + make_interval(secs => p_max_session_seconds), v_options, coalesce(p_tags, '{}'), v_now)
      returning * into s;
  else
    if not v_inherit then
      perform omicron.drain_runner(s.runner_id, 'superseded');
    end if;
    update omicron.browser_sessions
       set status = 'starting', epoch = s.epoch + 1, runner_id = v_runner, provider = p_provider, k8s_namespace = p_namespace,
           claim_id = p_claim, claim_until = v_now + make_interval(secs => p_claim_seconds),
           starting_since = case when v_inherit then starting_since else v_now end, -- or inheriting could go on without end
           ttl_seconds = p_ttl_seconds,
           expires_at = v_now + make_interval(secs => least(greatest(p_ttl_seconds, p_claim_seconds), p_max_session_seconds)),
           ends_at = v_now + make_interval(secs => p_max_session_seconds),
           options = v_options, tags = coalesce(p_tags, tags), last_used_at = v_now, released_at = null, yields_until = null, archived_at = null,
           mcp_url = null, pod_name = null, service_name = null, artifacts_s3_prefix = null, ended_reason = null, error = null
     where id = s.id returning * into s;
    if s.hibernated_until is not null and not v_restores then -- kept for too long, or of another profile
      perform omicron.drop_snapshot(s.id);
      s.hibernated_until := null;
    end if;
  end if;
  -- The claimer of a warm runner sends the assignment at once: from here on it may have been sent.
  update omicron.runners
     set session_id = s.id, epoch = s.epoch, recorded = (v_options ->> 'record_video')::boolean,
         state = case when state = 'warm' then 'claimed' else state end,
         assigned_at = case when state = 'warm' then v_now else assigned_at end
   where id = v_runner returning * into r;
  delete from omicron.waiting_callers where user_id = p_user and conversation_id = p_conversation returning since into v_waiting_since;
  perform omicron.write_event(s.id, s.epoch, 'session.claimed', jsonb_strip_nulls(jsonb_build_object('runner_id', r.id,
    'warm', r.assigned_at is not null, 'waited_ms', round(extract(epoch from clock_timestamp() - v_waiting_since) * 1000))));
  return jsonb_build_object('outcome', 'claimed', 'session', to_jsonb(s), 'runner', to_jsonb(r), 'evicted', v_victims <> '{}');
end $$;
