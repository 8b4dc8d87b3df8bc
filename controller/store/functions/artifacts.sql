-- The time from which a file is removed whose session has ended: now, or never where the lease keeps all files or this name.
create or replace function omicron.file_due_at(p_options jsonb, p_name text) returns timestamptz
language plpgsql as $$
declare
  v_keep jsonb := p_options -> 'keep_files';
begin
  return case when v_keep = '"all"' or jsonb_typeof(v_keep) = 'array' and v_keep ? regexp_replace(p_name, '^.*/', '') then 'infinity'
    else clock_timestamp() end;
end $$;

-- Outcome of a video, a file or a kept page: names of the latter two have a folder. A late report never makes a stored one lost; a
-- lost one may turn out stored. False: this runner never held that lease.
create or replace function omicron.write_artifact(p_session uuid, p_epoch integer, p_runner uuid, p_name text, p_state text, p_uri text,
  p_bytes bigint, p_reason text) returns boolean
language plpgsql as $$
begin
  if not omicron.held_lease(p_session, p_epoch, p_runner) then
    return false;
  end if;
  insert into omicron.artifacts (session_id, epoch, runner_id, name, kind, state, uri, bytes, reason)
    values (p_session, p_epoch, p_runner, p_name,
      case when p_name like 'pages/%' then 'page' when p_name like '%/%' then 'file' else 'video' end, p_state, p_uri, p_bytes, p_reason)
  on conflict (runner_id, name) do update
    set state = excluded.state, uri = excluded.uri, bytes = excluded.bytes, reason = excluded.reason
    where omicron.artifacts.state = 'lost' and excluded.state = 'stored';
  if found then
    -- An upload may end after the session.
    update omicron.artifacts a set due_at = omicron.file_due_at(s.options, a.name)
      from omicron.browser_sessions s
     where a.runner_id = p_runner and a.name = p_name and a.kind = 'file' and a.state = 'stored' and a.due_at is null and s.id = p_session
       and exists (select from omicron.session_events e
                    where e.session_id = p_session and e.epoch = p_epoch and e.kind in ('session.ended', 'session.error'));
    perform omicron.write_event(p_session, p_epoch, 'artifact.' || p_state,
      jsonb_strip_nulls(jsonb_build_object('name', p_name, 'uri', p_uri, 'bytes', p_bytes, 'reason', p_reason)));
  end if;
  return true;
end $$;
