-- Retention: rows past their time go in batches, a transaction each, on one replica at a time.

-- False: another replica removes rows now.
create or replace function omicron.may_prune() returns boolean
language sql as $$
  select pg_try_advisory_xact_lock(hashtextextended('omicron.prune', 0))
$$;

-- A conversation's row in epoch_floors.
create or replace function omicron.floor_place(p_user text, p_conversation text) returns integer
language sql immutable as $$
  select ('x' || left(md5(p_user || E'\n' || p_conversation), 3))::bit(12)::integer
$$;

-- The epoch with which a new session of this conversation begins.
create or replace function omicron.first_epoch(p_user text, p_conversation text) returns integer
language sql as $$
  select coalesce((select epoch from omicron.epoch_floors where place = omicron.floor_place(p_user, p_conversation)), 0) + 1
$$;

-- One batch of events, in the order in which they were written. Events of a lease whose runner may report yet stay: a repeated event
-- is written once. Null: another replica removes rows. {more, after, rows}: `after` is where the next batch begins.
create or replace function omicron.prune_events(p_days integer, p_after bigint, p_most integer) returns jsonb
language plpgsql as $$
declare
  v_cutoff timestamptz := clock_timestamp() - make_interval(days => p_days);
  v_answer jsonb;
begin
  if not omicron.may_prune() then
    return null;
  end if;
  with oldest as materialized (
    select id, session_id, epoch, at from omicron.session_events where id > p_after order by id limit p_most
  ), pruned as (
    delete from omicron.session_events e using oldest o
     where e.id = o.id and o.at < v_cutoff
       and not exists (select from omicron.runners r where r.session_id = o.session_id and r.epoch = o.epoch and r.state <> 'gone')
    returning 1
  )
  select jsonb_build_object('more', count(*) = p_most and bool_and(at < v_cutoff), 'after', coalesce(max(id), p_after),
           'rows', jsonb_build_object('session_events', (select count(*) from pruned)))
    into v_answer from oldest;
  return v_answer;
end $$;

-- Artifact rows whose objects are gone.
create or replace function omicron.prune_artifacts(p_runners uuid[]) returns bigint
language sql as $$
  with pruned as (delete from omicron.artifacts where runner_id = any (p_runners) returning 1) select count(*) from pruned
$$;

-- One batch of sessions, those first that were made first: ended ones go with all that belongs to them; of the others their gone runners
-- of earlier epochs, and old user actions. Sessions with a stored artifact, or a runner that is not gone, stay.
-- Null: another replica removes rows. {more, after, rows}: `after` is where the next batch begins.
create or replace function omicron.prune_sessions(p_days integer, p_after jsonb, p_most integer) returns jsonb
language plpgsql as $$
declare
  v_cutoff timestamptz := clock_timestamp() - make_interval(days => p_days);
  v_looked uuid[];
  v_after jsonb;
  v_sessions uuid[];
  v_runners uuid[];
  v_rows jsonb;
  v_artifacts bigint;
  v_gone bigint;
begin
  if not omicron.may_prune() then
    return null;
  end if;
  with oldest as materialized (
    select id, created_at from omicron.browser_sessions
     where created_at < v_cutoff
       and (created_at, id) > (coalesce((p_after ->> 0)::timestamptz, '-infinity'), coalesce((p_after ->> 1)::uuid, '00000000-0000-0000-0000-000000000000'))
     order by created_at, id limit p_most)
  select array_agg(id), (array_agg(jsonb_build_array(created_at, id) order by created_at desc, id desc))[1]
    into v_looked, v_after from oldest;

  v_sessions := array(
    select id from omicron.browser_sessions s
     where id = any (v_looked) and status in ('ended', 'error') and updated_at < v_cutoff
       and not exists (select from omicron.runners r where r.session_id = s.id and r.state <> 'gone')
       and not exists (select from omicron.artifacts a where a.session_id = s.id and a.state = 'stored')
       and not exists (select from omicron.profiles p where p.session_id = s.id)
     order by id for update skip locked);
  v_runners := array(
    select r.id from omicron.runners r join omicron.browser_sessions s on s.id = r.session_id
     where r.session_id = any (v_looked)
       and (r.session_id = any (v_sessions)
         or r.state = 'gone' and r.gone_at < v_cutoff and r.epoch < s.epoch
           and not exists (select from omicron.artifacts a where a.runner_id = r.id and a.state = 'stored')));
  insert into omicron.epoch_floors as f (place, epoch)
    select omicron.floor_place(user_id, conversation_id), max(epoch)
      from omicron.browser_sessions where id = any (v_sessions) group by 1 order by 1
  on conflict (place) do update set epoch = excluded.epoch where f.epoch < excluded.epoch;

  with events as (delete from omicron.session_events where session_id = any (v_sessions) returning 1),
       actions as (
         delete from omicron.user_actions
          where session_id = any (v_looked) and (session_id = any (v_sessions) or expires_at < v_cutoff) returning 1),
       policies as (delete from omicron.policies where layer = 'session' and subject = any (v_sessions::text[]) returning 1)
  select jsonb_build_object('session_events', (select count(*) from events), 'user_actions', (select count(*) from actions),
           'policies', (select count(*) from policies)) into v_rows;
  v_artifacts := omicron.prune_artifacts(v_runners);
  update omicron.profiles set writer = null where writer = any (v_runners);
  delete from omicron.runners where id = any (v_runners);
  get diagnostics v_gone = row_count;
  delete from omicron.browser_sessions where id = any (v_sessions);
  return jsonb_build_object('more', coalesce(cardinality(v_looked), 0) = p_most, 'after', v_after,
    'rows', v_rows || jsonb_build_object('browser_sessions', cardinality(v_sessions), 'runners', v_gone, 'artifacts', v_artifacts));
end $$;

-- One batch of gone runners that never had a lease. As above.
create or replace function omicron.prune_runners(p_days integer, p_most integer) returns jsonb
language plpgsql as $$
declare
  v_gone bigint;
begin
  if not omicron.may_prune() then
    return null;
  end if;
  delete from omicron.runners where id in (
    select id from omicron.runners
     where state = 'gone' and session_id is null and gone_at < clock_timestamp() - make_interval(days => p_days)
     order by gone_at limit p_most for update skip locked);
  get diagnostics v_gone = row_count;
  return jsonb_build_object('more', v_gone = p_most, 'after', null, 'rows', jsonb_build_object('runners', v_gone));
end $$;
