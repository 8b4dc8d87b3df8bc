-- The reaper's step: ends leases, and hibernated sessions, whose time is over. Candidates are among the live ones, by the index
-- of the status; each is judged again under its lock.
create or replace function omicron.expire_leases(p_most integer) returns setof uuid
language plpgsql as $$
declare
  s omicron.browser_sessions;
  v_id uuid;
begin
  for v_id in
    select id from omicron.browser_sessions
     where expires_at < (select clock_timestamp()) and status in ('starting', 'ready', 'hibernated') order by expires_at limit p_most
  loop
    select * into s from omicron.browser_sessions where id = v_id for update skip locked;
    continue when s.id is null or s.status not in ('starting', 'ready', 'hibernated') or s.expires_at >= clock_timestamp();
    perform omicron.expire_lease(s);
    return next s.id;
  end loop;
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
