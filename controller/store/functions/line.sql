-- The line of callers where every place is taken. A caller that waits may take a place when more are free than callers wait
-- before it. A caller that was refused and is not back yet holds no place, but those that are new come after it.

-- Places that a caller could take now, at most `p_most`: warm runners, those that the pool is making, and free permits.
create or replace function omicron.free_places(p_provider text, p_template text, p_most bigint) returns bigint
language sql as $$
  select count(*) from (
    select 1 from omicron.runners where state = 'warm' and provider = p_provider
    union all
    select 1 from omicron.runners
     where state = 'creating' and session_id is null and provider = p_provider and template = p_template
    union all
    select 1 from omicron.permits where runner_id is null
    limit p_most) free
$$;

-- Milliseconds until a place comes free for a caller with this many before it. By the places that came free in the last minute; and by the leases
-- that hold the others: each is expected to last as long as those that ended in the last minute, else as those before them, or as it has lasted
-- already. On a fleet on which none has ended yet, three times as long as it has lasted: a caller that is early comes in vain. All are read from at
-- most 100 leases.
create or replace function omicron.line_wait_ms(p_turn bigint) returns integer
language plpgsql as $$
declare
  v_now timestamptz := clock_timestamp();
  v_lasted double precision;
  v_rate double precision; -- places a millisecond
  v_ms double precision;
begin
  select coalesce(avg(lasted) filter (where gone_at > v_now - interval '1 minute'), avg(lasted)) into v_lasted from (
    select gone_at, extract(epoch from gone_at - assigned_at) * 1000 as lasted from omicron.runners
     where state = 'gone' order by gone_at desc limit 100) ended;
  select greatest(
    (select count(*) / 60000.0 from omicron.runners where state = 'gone' and gone_at > v_now - interval '1 minute'),
    (select count(*) from omicron.permits where runner_id is not null) * (
      select avg(1 / greatest(1, age, coalesce(v_lasted, 3 * age))) from (
        select extract(epoch from v_now - starting_since) * 1000 as age from omicron.browser_sessions where status = 'ready' limit 100) live))
    into v_rate;
  if v_rate > 0 then
    v_ms := (p_turn + 1) / v_rate;
  elsif exists (select from omicron.runners where state = 'draining') then -- a permit is about to be freed
    v_ms := 1000;
  else
    select extract(epoch from min(expires_at) - v_now) * 1000 into v_ms from omicron.browser_sessions
     where status in ('starting', 'ready') and expires_at > v_now;
  end if;
  return ceil(least(86400000, greatest(0, coalesce(v_ms, 1000))));
end $$;

-- Retry-After in milliseconds, of 1 to 30 s, for this expected wait: a caller that comes late finds its place, one that is early is refused. It is
-- rounded up to whole seconds.
create or replace function omicron.line_retry_ms(p_wait_ms integer) returns integer
language sql as $$ select greatest(1000, least(30000, 600 + p_wait_ms)) $$;

-- Null: the caller may take a place. Else the refusal, and its place in the line: held by a replica (`p_waits`), or kept for its return.
-- `turn`: callers that come first; `ahead`: those of them that are waiting now; `returns`: it had that place already.
-- `p_found_none`: others took the places meanwhile.
create or replace function omicron.join_line(p_user text, p_conversation text, p_provider text, p_template text, p_waits boolean,
  p_user_limit integer, p_found_none boolean) returns jsonb
language plpgsql as $$
declare
  w omicron.waiting_callers;
  v_now timestamptz;
  v_turn bigint;
  v_ahead bigint;
  v_waiting integer;
  v_wait_ms integer;
  v_retry_ms integer;
  v_returns boolean;
begin
  if not p_found_none and not exists (select from omicron.waiting_callers where provider = p_provider) then
    return null;
  end if;
  perform pg_advisory_xact_lock(hashtextextended('omicron.line:' || p_provider, 0));
  v_now := clock_timestamp();
  delete from omicron.waiting_callers where provider = p_provider and waits_until < v_now and kept_until < v_now;
  select * into w from omicron.waiting_callers where user_id = p_user and conversation_id = p_conversation and provider = p_provider;
  select count(*) into v_turn from omicron.waiting_callers
   where provider = p_provider and (w.place is null or place < w.place and waits_until > v_now);
  if not p_found_none and omicron.free_places(p_provider, p_template, v_turn + 1) > v_turn then
    return null;
  end if;
  if w.place is null then
    select count(*) into v_waiting from omicron.waiting_callers where user_id = p_user and conversation_id <> p_conversation;
    if v_waiting >= p_user_limit then
      return jsonb_build_object('outcome', 'refused', 'code', 'user_quota_exceeded', 'limit', p_user_limit, 'active', v_waiting,
        'retry_after_ms', omicron.line_retry_ms(omicron.line_wait_ms(v_turn)));
    end if;
  end if;
  select count(*), count(*) filter (where waits_until > v_now) into v_turn, v_ahead from omicron.waiting_callers
   where provider = p_provider and (w.place is null or place < w.place);
  v_wait_ms := omicron.line_wait_ms(v_turn);
  v_retry_ms := omicron.line_retry_ms(v_wait_ms);
  v_returns := w.place is not null;
  insert into omicron.waiting_callers as own (provider, user_id, conversation_id, waits_until, kept_until)
    values (p_provider, p_user, p_conversation, case when p_waits then v_now + interval '5 seconds' else '-infinity' end,
      v_now + make_interval(secs => v_retry_ms / 1000.0 + 5))
  on conflict (user_id, conversation_id) do update
    set waits_until = greatest(own.waits_until, excluded.waits_until), kept_until = greatest(own.kept_until, excluded.kept_until),
        provider = excluded.provider
  returning * into w;
  return jsonb_build_object('outcome', 'refused', 'code', 'capacity_exceeded', 'place', w.place, 'returns', v_returns, 'turn', v_turn, 'ahead', v_ahead,
    'limit', (select count(*) from omicron.permits), 'active', (select count(*) from omicron.permits where runner_id is not null),
    'retry_after_ms', v_retry_ms, 'wait_ms', v_wait_ms);
end $$;

-- The places, among those that a replica holds, for which it is time to ask again, and those that have left the line. Keeps the others in it.
create or replace function omicron.line_turns(p_provider text, p_template text, p_places bigint[]) returns setof bigint
language plpgsql as $$
declare
  v_now timestamptz := clock_timestamp();
  v_free bigint;
begin
  update omicron.waiting_callers set waits_until = v_now + interval '5 seconds'
   where place = any (p_places) and waits_until < v_now + interval '3 seconds' and waits_until > v_now;
  v_free := omicron.free_places(p_provider, p_template, cardinality(p_places) + (
    select count(*) from omicron.waiting_callers where provider = p_provider and waits_until > v_now));
  return query
    select held.place from unnest(p_places) held (place)
     where held.place not in (
       select inline.place from (
         select w.place, row_number() over (order by w.place) as turn from omicron.waiting_callers w
          where w.provider = p_provider and w.waits_until > v_now) inline
        where inline.turn > v_free);
end $$;

-- A replica holds this call no longer. `p_returns`: the place is kept for as long as the caller was asked to stay away: {turn, retry_after_ms, wait_ms}.
create or replace function omicron.leave_line(p_place bigint, p_returns boolean) returns jsonb
language plpgsql as $$
declare
  v_turn bigint;
  v_wait_ms integer;
  v_retry_ms integer;
begin
  if not p_returns then
    delete from omicron.waiting_callers where place = p_place;
    return null;
  end if;
  select count(*) into v_turn from omicron.waiting_callers w
   where w.provider = (select provider from omicron.waiting_callers where place = p_place) and w.place < p_place
     and greatest(w.waits_until, w.kept_until) > clock_timestamp();
  v_wait_ms := omicron.line_wait_ms(v_turn);
  v_retry_ms := omicron.line_retry_ms(v_wait_ms);
  update omicron.waiting_callers
     set waits_until = '-infinity', kept_until = clock_timestamp() + make_interval(secs => v_retry_ms / 1000.0 + 5)
   where place = p_place;
  return jsonb_build_object('turn', v_turn, 'retry_after_ms', v_retry_ms, 'wait_ms', v_wait_ms);
end $$;
