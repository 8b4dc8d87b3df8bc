-- Makes the number of permits the cap. Permits above it that are held are deleted once they are free.
create or replace function omicron.set_capacity(p_most integer) returns void
language plpgsql as $$
begin
  insert into omicron.permits (slot) select n from generate_series(1, p_most) n on conflict do nothing;
  delete from omicron.permits
   where slot in (select slot from omicron.permits where slot > p_most and runner_id is null for update skip locked);
end $$;

-- Drains one warm runner of another template, so that its permit can go to the first of this one: only while none is on its way.
create or replace function omicron.give_way(p_provider text, p_template text) returns void
language sql as $$
  select omicron.drain_runner(id, 'template changed') from (select id from omicron.runners
     where state = 'warm' and provider = p_provider and template <> p_template
       and not exists (select from omicron.runners
                        where provider = p_provider and (state = 'draining' or state = 'creating' and template = p_template))
     order by warm_at limit 1 for update skip locked) stale
$$;

-- The demand for warm runners: as many as leases are started in the time that a runner needs to start and the pool to look, and half as many
-- again. A lease counts from its claim, before its runner has started. Its rate is that of this time or of the last minute, or, for a step, of
-- the last second, less its standard deviation. A runner's time is that of nine of ten that were leased lately, from their
-- launch: a backlog makes no demand. `awaited`: runners that start for a lease already.
create or replace function omicron.pool_demand(p_provider text) returns jsonb
language plpgsql as $$
declare
  v_now timestamptz := clock_timestamp();
  v_start double precision;
  v_seconds double precision;
  v_in_time bigint;
  v_in_second bigint;
  v_in_minute bigint;
begin
  select percentile_cont(0.9) within group (order by date_part('epoch', warm_at - launched_at)) into v_start from (
    select warm_at, launched_at from omicron.runners
     where redeemed_at > v_now - interval '10 minutes' and provider = p_provider and launched_at is not null
     order by redeemed_at desc limit 32) lately;
  v_seconds := 0.5 + least(120, greatest(1, coalesce(v_start, 10)));
  select count(*), count(*) filter (where at > v_now - interval '1 second') into v_in_time, v_in_second from (
    select starting_since as at from omicron.browser_sessions where status = 'starting' and provider = p_provider
    union all
    select coalesce(s.starting_since, r.redeemed_at) from omicron.runners r
      left join omicron.browser_sessions s on s.id = r.session_id and s.epoch = r.epoch and s.status = 'ready'
     where r.redeemed_at > v_now - make_interval(secs => v_seconds) and r.provider = p_provider) claims
   where at > v_now - make_interval(secs => v_seconds);
  select count(*) into v_in_minute from omicron.runners where redeemed_at > v_now - interval '1 minute' and provider = p_provider;
  return jsonb_build_object(
    'runners', ceil(1.5 * greatest(v_in_time, v_in_minute * v_seconds / 60, (v_in_second - sqrt(v_in_second)) * v_seconds)),
    'awaited', (select count(*) from omicron.runners where state = 'creating' and session_id is not null and provider = p_provider));
end $$;

-- The pool's step: brings unleased runners of this template to `p_idle` and returns how many it wrote. At most
-- `p_burst` start at once, those that a lease waits for included. Runners of another template, and spare ones, become
-- `draining` before anything is deleted. A warm runner of another template stays until one of this template is warm in its
-- place: a template that does not start empties no pool. Without a free permit one of them gives way at a time.
-- A spare runner younger than a minute stays: while a new pool size rolls out, two replicas disagree on it, and one would
-- remove each second what the other creates.
create or replace function omicron.plan_pool(p_provider text, p_template text, p_idle integer, p_burst integer) returns integer
language plpgsql as $$
declare
  v_missing integer;
  v_stale integer;
  v_awaited integer;
  v_slot integer;
  v_runner uuid;
  v_created integer := 0;
begin
  perform pg_advisory_xact_lock(hashtextextended('omicron.pool:' || p_provider, 0));
  select count(*) filter (where state = 'warm') - greatest(p_idle, count(*) filter (where state = 'warm' and template = p_template)),
         p_idle - count(*) filter (where template = p_template) into v_stale, v_missing
    from omicron.runners where state in ('creating', 'warm') and session_id is null and provider = p_provider;
  perform omicron.drain_runner(id, 'template changed') from (select id from omicron.runners
                 where state = 'creating' and session_id is null and provider = p_provider and template <> p_template
                 for update skip locked) stale;
  perform omicron.drain_runner(id, 'template changed') from (select id from omicron.runners
                 where state = 'warm' and provider = p_provider and template <> p_template
                 order by warm_at limit greatest(0, v_stale) for update skip locked) stale;
  if v_missing < 0 then
    perform omicron.drain_runner(id, 'pool is full') from (select id from omicron.runners
                   where state in ('creating', 'warm') and session_id is null and provider = p_provider and template = p_template
                     and created_at < clock_timestamp() - interval '1 minute'
                   order by created_at desc limit -v_missing for update skip locked) spare;
  end if;
  select count(*) into v_awaited from omicron.runners
   where state = 'creating' and session_id is not null and provider = p_provider;
  while v_created < least(v_missing, p_burst - v_awaited) loop
    select slot into v_slot from omicron.permits where runner_id is null order by slot limit 1 for update skip locked;
    if v_slot is null then
      perform omicron.give_way(p_provider, p_template);
      exit;
    end if;
    insert into omicron.runners (provider, template) values (p_provider, p_template) returning id into v_runner;
    update omicron.permits set runner_id = v_runner where slot = v_slot;
    v_created := v_created + 1;
  end loop;
  return v_created;
end $$;
