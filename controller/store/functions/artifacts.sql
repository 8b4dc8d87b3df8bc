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
    perform omicron.write_event(p_session, p_epoch, 'artifact.' || p_state,
      jsonb_strip_nulls(jsonb_build_object('name', p_name, 'uri', p_uri, 'bytes', p_bytes, 'reason', p_reason)));
  end if;
  return true;
end $$;
