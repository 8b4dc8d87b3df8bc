-- The removal of everything of a user. Each step may be repeated.

-- Writes the intent, or takes over the one that there is, and ends the user's leases: their rows go once their runners are
-- gone. Answers when, as `finish_erasure` takes it.
create or replace function omicron.begin_erasure(p_user text) returns text
language plpgsql as $$
declare
  v_id uuid;
  v_asked_at timestamptz;
begin
  perform pg_advisory_xact_lock(hashtextextended('omicron.user:' || p_user, 0));
  insert into omicron.user_erasures (user_id) values (p_user)
    on conflict (user_id) do update set asked_at = clock_timestamp() returning asked_at into v_asked_at;
  for v_id in
    select id from omicron.browser_sessions where user_id = p_user and status in ('starting', 'ready', 'hibernated') order by id
  loop
    perform omicron.end_lease(v_id, null, null, 'released');
  end loop;
  return v_asked_at::text;
end $$;

-- Forgets the intent, unless another has taken it over since `p_asked_at`: that one answers with what was removed.
create or replace function omicron.finish_erasure(p_user text, p_asked_at text) returns void
language sql as $$
  delete from omicron.user_erasures where user_id = p_user and asked_at = p_asked_at::timestamptz
$$;

-- Adds to what was removed.
create or replace function omicron.count_erased(p_user text, p_removed jsonb) returns void
language sql as $$
  update omicron.user_erasures e
     set removed = (select coalesce(jsonb_object_agg(key, total), '{}') from (
           select key, sum(value::bigint) as total
             from (select * from jsonb_each_text(e.removed) union all select * from jsonb_each_text(p_removed)) counts
            group by key) sums)
   where user_id = p_user
$$;

-- Removes rows of the user: at most p_most sessions, of those whose runners and stored artifacts are gone, and what no runner
-- may still write. Answers how many sessions and profiles are left.
create or replace function omicron.erase_rows(p_user text, p_most integer) returns integer
language plpgsql as $$
declare
  v_sessions uuid[];
  v_removed jsonb;
  p omicron.profiles;
  v_profiles integer := 0;
begin
  perform pg_advisory_xact_lock(hashtextextended('omicron.user:' || p_user, 0));
  v_sessions := array(
    select id from omicron.browser_sessions s
     where user_id = p_user and status in ('ended', 'error')
       and not exists (select from omicron.runners r where r.session_id = s.id and r.state <> 'gone')
       and not exists (select from omicron.artifacts a where a.session_id = s.id and a.state = 'stored')
     order by id limit p_most for update);
  with events as (delete from omicron.session_events where session_id = any (v_sessions) returning 1),
       artifacts as (delete from omicron.artifacts where session_id = any (v_sessions) returning kind, state),
       actions as (delete from omicron.user_actions where session_id = any (v_sessions) returning 1),
       policies as (
         delete from omicron.policies
          where (layer = 'user' and subject = p_user) or (layer = 'session' and subject = any (v_sessions::text[])) returning 1)
  select jsonb_build_object('sessions', cardinality(v_sessions), 'events', (select count(*) from events),
      'videos', count(*) filter (where kind = 'video'), 'files', count(*) filter (where kind = 'file'),
      'pages', count(*) filter (where kind = 'page'), 'user_actions', (select count(*) from actions),
      'policies', (select count(*) from policies))
    into v_removed from artifacts where state <> 'lost';
  update omicron.profiles set writer = null where writer in (select id from omicron.runners where session_id = any (v_sessions));
  delete from omicron.runners where session_id = any (v_sessions);
  delete from omicron.browser_sessions where id = any (v_sessions);
  for p in
    select * from omicron.profiles where user_id = p_user and writer is null and session_id is null for update
  loop
    perform omicron.drop_versions(p.id, p.version);
    delete from omicron.profiles where id = p.id;
    v_profiles := v_profiles + 1;
  end loop;
  perform omicron.drop_unused_key(p_user);
  delete from omicron.webhooks where user_id = p_user;
  perform omicron.count_erased(p_user, v_removed || jsonb_build_object('profiles', v_profiles));
  return (select count(*) from omicron.browser_sessions where user_id = p_user)
    + (select count(*) from omicron.profiles where user_id = p_user);
end $$;
