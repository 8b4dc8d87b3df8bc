-- Ends a lease (O3); idempotent. Null epoch: the current one. An older epoch has ended already: nothing changes.
-- {outcome: ended | already_ended | superseded | not_found, session, served, runner}. `served`: a runner may still act in that epoch or an
-- earlier one. `p_work_seconds`: the caller drains the runner itself, and holds its row for as long (take_work); null: the drain loop does.
-- `runner`: the row, where the caller holds it.
create or replace function omicron.end_lease(p_session uuid, p_user text, p_epoch integer, p_reason text,
  p_work_seconds double precision default null) returns jsonb
language plpgsql as $$
declare
  s omicron.browser_sessions;
  v_until timestamptz := '-infinity';
begin
  select * into s from omicron.browser_sessions where id = p_session and user_id = coalesce(p_user, user_id) for update;
  if s.id is null then
    return jsonb_build_object('outcome', 'not_found');
  end if;
  if p_epoch is not null and p_epoch <> s.epoch then
    return jsonb_build_object('outcome', case when p_epoch < s.epoch then 'already_ended' else 'superseded' end,
      'session', to_jsonb(s), 'served', omicron.may_act(s.id, p_epoch));
  end if;
  if s.status not in ('starting', 'ready', 'hibernated') then
    return jsonb_build_object('outcome', 'already_ended', 'session', to_jsonb(s), 'served', omicron.may_act(s.id, s.epoch));
  end if;
  if p_work_seconds is not null then
    v_until := clock_timestamp() + make_interval(secs => p_work_seconds);
  end if;
  perform omicron.close_lease(s, 'ended', p_reason, null, v_until);
  select * into s from omicron.browser_sessions where id = p_session;
  return jsonb_build_object('outcome', 'ended', 'session', to_jsonb(s), 'served', omicron.may_act(s.id, s.epoch),
    'runner', (select to_jsonb(r) from omicron.runners r
                where r.id = s.runner_id and r.state = 'draining' and r.work_until = v_until and p_work_seconds is not null));
end $$;

-- Ends the live lease, if any, and takes the session off the list (S1). Null: there is no such session.
create or replace function omicron.archive(p_session uuid, p_user text) returns jsonb
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

-- The local stack stops: its runners cannot outlive it, so their leases end here, with `shutdown` as the reason.
create or replace function omicron.end_all(p_provider text) returns void
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
