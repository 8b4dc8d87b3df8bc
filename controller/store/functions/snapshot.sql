-- The snapshot of a hibernated session: read by the start that restores it, and gone with its restore or its end.

-- The snapshot that the runner of a start restores. Null: it restores nothing, or does not hold that start.
create or replace function omicron.lease_snapshot(p_session uuid, p_epoch integer, p_runner uuid) returns jsonb
language sql as $$
  select omicron.profile_content(p, p.version)
    from omicron.browser_sessions s
    join omicron.profiles p on p.session_id = s.id
   where s.id = p_session and s.epoch = p_epoch and s.runner_id = p_runner and s.status = 'starting'
     and s.hibernated_until is not null and omicron.held_lease(p_session, p_epoch, p_runner)
$$;

-- The session has no snapshot any more; the sweep removes its object. The caller has locked the session.
create or replace function omicron.drop_snapshot(p_session uuid) returns void
language plpgsql as $$
declare
  p omicron.profiles;
begin
  delete from omicron.profiles where session_id = p_session returning * into p; -- its versions go too
  if found then
    update omicron.profile_objects set state = 'removing', since = clock_timestamp() where profile_id = p.id and state = 'kept';
  end if;
  update omicron.browser_sessions set hibernated_until = null where id = p_session and hibernated_until is not null;
end $$;

-- A hibernated session keeps its profile and its credentials, as a live lease does: what of a claim's options applies then.
create or replace function omicron.restored_options(s omicron.browser_sessions, p_options jsonb) returns jsonb
language sql as $$
  select (p_options - array['profile', 'credentials'])
         || (select coalesce(jsonb_object_agg(key, value), '{}') from jsonb_each(s.options) where key in ('profile', 'credentials'))
$$;
