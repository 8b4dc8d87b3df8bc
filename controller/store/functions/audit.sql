-- Entries of the audit, and the chain of files that they are moved into.

create or replace function omicron.set_audit(p_active boolean) returns void
language sql as $$
  update omicron.audit_chain set active = p_active where active <> p_active
$$;

create or replace function omicron.write_audit(p_entry jsonb) returns void
language sql as $$
  insert into omicron.audit_entries (tx, entry) select omicron.event_tx(), p_entry from omicron.audit_chain where active
$$;

-- Events of a session that are deeds: an entry stands or falls with its event. `data` is what these kinds have, and nothing more.
create or replace function omicron.audit_event() returns trigger
language plpgsql as $$
begin
  if not exists (select from omicron.audit_chain where active) then
    return null;
  end if;
  perform omicron.write_audit(jsonb_build_object(
    'source', 'session', 'action', new.kind,
    'actor', jsonb_strip_nulls(jsonb_build_object('id', new.data -> 'identity', 'name', new.data -> 'viewer')),
    'target', jsonb_build_object('session_id', new.session_id, 'epoch', new.epoch,
      'user_id', (select user_id from omicron.browser_sessions where id = new.session_id)),
    'data', (select coalesce(jsonb_object_agg(key, value), '{}') from jsonb_each(new.data)
              where key in ('id', 'status', 'from', 'reason', 'why', 'seconds', 'domain', 'names', 'runner_id', 'name', 'version'))));
  return null;
end $$;

create or replace trigger audit_event after insert on omicron.session_events for each row
  when (new.kind in ('session.claimed', 'session.ended', 'control.taken', 'control.given_back', 'user_action.answered', 'secrets.loaded',
                     'login', 'profile.saved'))
  execute function omicron.audit_event();

-- The file that is to be written now: `file`; the one that a replica which was killed had begun comes again, byte for byte.
-- `waits_seconds`: for how long the oldest entry that is in no file has waited.
-- Null: another replica is at it.
create or replace function omicron.audit_take(p_environment text, p_every_seconds double precision, p_most integer, p_hold_seconds double precision)
returns jsonb
language plpgsql as $$
declare
  c omicron.audit_chain;
  v_now timestamptz := clock_timestamp();
  v_lines text;
  v_count integer;
begin
  select * into c from omicron.audit_chain for update skip locked;
  if c.one is null or (c.pending is not null and c.held_until > v_now) then
    return null;
  end if;
  if c.pending is null and c.cut_at + make_interval(secs => p_every_seconds) <= v_now then
    with horizon as materialized (select omicron.event_horizon() as tx),
    moved as (
      delete from omicron.audit_entries
       where id in (select e.id from omicron.audit_entries e where e.tx < (select tx from horizon) order by e.tx, e.id limit p_most)
      returning *)
    select count(*), string_agg((jsonb_build_object('id', id,
             'at', to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) || entry)::text || E'\n', '' order by tx, id)
      into v_count, v_lines from moved;
    if v_count > 0 then
      c.pending := jsonb_build_object('audit', 1, 'environment', p_environment, 'sequence', c.sequence + 1, 'previous', c.sha256,
        'entries', v_count)::text || E'\n' || v_lines;
      c.sequence := c.sequence + 1;
      c.sha256 := encode(sha256(convert_to(c.pending, 'UTF8')), 'hex');
    end if;
    -- what one file does not hold is due at once
    if v_count < p_most then
      c.cut_at := v_now;
    end if;
    update omicron.audit_chain set sequence = c.sequence, sha256 = c.sha256, pending = c.pending, cut_at = c.cut_at;
  end if;
  if c.pending is not null then
    update omicron.audit_chain set held_until = v_now + make_interval(secs => p_hold_seconds);
  end if;
  return jsonb_build_object('waits_seconds', (select coalesce(extract(epoch from v_now - min(at)), 0) from omicron.audit_entries))
    || case when c.pending is null then '{}' else jsonb_build_object('file',
         jsonb_build_object('sequence', c.sequence, 'sha256', c.sha256, 'body', c.pending)) end;
end $$;

-- The file is in the bucket. Repeating it changes nothing.
create or replace function omicron.audit_written(p_sequence bigint) returns void
language sql as $$
  update omicron.audit_chain set pending = null, held_until = clock_timestamp() where sequence = p_sequence and pending is not null
$$;
