-- The launch and drain loops. Each takes rows, and a row is one worker's until `work_until`.

create or replace function omicron.take_work(p_provider text, p_state text, p_most integer, p_work_seconds integer) returns setof omicron.runners
language sql as $$
  update omicron.runners
     set work_until = clock_timestamp() + make_interval(secs => p_work_seconds),
         launched_at = case when p_state = 'creating' then coalesce(launched_at, clock_timestamp()) else launched_at end
   where id in (select id from omicron.runners
                 where provider = p_provider and state = p_state and state in ('creating', 'draining')
                   and work_until < (select clock_timestamp())
                 order by created_at limit p_most for update skip locked)
  returning *
$$;

-- A worker still launches these. A row that another statement holds is left to the next call, so that none waits for it.
create or replace function omicron.keep_work(p_runners uuid[], p_work_seconds integer) returns void
language sql as $$
  update omicron.runners set work_until = clock_timestamp() + make_interval(secs => p_work_seconds)
   where id in (select id from omicron.runners where id = any (p_runners) and state = 'creating' for update skip locked)
$$;

-- A launch ended whose runner is already draining: it may be removed at once, not only when the launcher's turn is
-- over.
create or replace function omicron.launch_over(p_runner uuid) returns void
language sql as $$
  update omicron.runners set work_until = '-infinity' where id = p_runner and state = 'draining'
$$;

-- A runner came up: warm, or claimed when a lease has reserved it. Null: it is not wanted any more.
create or replace function omicron.runner_up(p_runner uuid, p_boot uuid, p_endpoint text) returns text
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
