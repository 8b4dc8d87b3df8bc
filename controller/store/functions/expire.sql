-- The reaper's step: ends leases, and hibernated sessions, whose time is over. Candidates are those that are due; each is judged again under its
-- lock. Those that were renewed since they became due are due at their new end, which no step brings forward without this (guard_session). The
-- time is a variable, so that the planner sees that few are due.
create or replace function omicron.expire_leases(p_most integer) returns setof uuid
language plpgsql as $$
declare
  s omicron.browser_sessions;
  v_id uuid;
  v_now timestamptz := clock_timestamp();
begin
  perform omicron.move_due(v_now);
  for v_id in
    select id from omicron.browser_sessions
     where due_at < v_now and expires_at < v_now and status in ('starting', 'ready', 'hibernated') order by expires_at limit p_most
  loop
    select * into s from omicron.browser_sessions where id = v_id for update skip locked;
    continue when s.id is null or s.status not in ('starting', 'ready', 'hibernated') or s.expires_at >= clock_timestamp();
    perform omicron.expire_lease(s);
    return next s.id;
  end loop;
end $$;

create or replace function omicron.move_due(p_now timestamptz) returns void
language plpgsql as $$
begin
  update omicron.browser_sessions set due_at = expires_at
   where id in (select id from omicron.browser_sessions
                 where due_at < p_now and expires_at >= p_now and status in ('starting', 'ready', 'hibernated')
                 order by due_at limit 1000 for update skip locked);
end $$;

-- A start that exceeds its time, from the launch of its runner, becomes an error (O18); the next request takes over.
create or replace function omicron.fail_stuck_starts(p_start_seconds integer, p_most integer) returns setof uuid
language plpgsql as $$
declare
  s omicron.browser_sessions;
  v_id uuid;
begin
  for v_id in
    select id from omicron.browser_sessions waiting
     where status = 'starting' and starting_since < clock_timestamp() - make_interval(secs => p_start_seconds)
       and not omicron.may_start(waiting, p_start_seconds) limit p_most
  loop
    select * into s from omicron.browser_sessions where id = v_id for update skip locked;
    continue when s.status is distinct from 'starting' or omicron.may_start(s, p_start_seconds);
    perform omicron.close_lease(s, 'error', 'start_timed_out',
      format('The browser did not start within %s seconds. Ask again; if this repeats, look at the runner''s log.', p_start_seconds));
    return next s.id;
  end loop;
end $$;
