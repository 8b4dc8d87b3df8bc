-- Moves that no step may make, whatever its code says. Legal moves: the tables of contract/states.ts, which a test compares.

create or replace function omicron.guard_session() returns trigger language plpgsql as $$
begin
  if new.epoch < old.epoch then
    raise exception 'epoch of session % fell from % to %', old.id, old.epoch, new.epoch;
  end if;
  if new.epoch = old.epoch and new.status <> old.status and not (
       (old.status = 'starting' and new.status in ('ready', 'hibernated', 'ended', 'error'))
    or (old.status = 'ready' and new.status in ('hibernated', 'ended', 'error'))
    or (old.status = 'hibernated' and new.status = 'ended')
  ) then
    raise exception 'session % may not go from % to % in epoch %', old.id, old.status, new.status, old.epoch;
  end if;
  if new.epoch > old.epoch and new.status <> 'starting' then
    raise exception 'a new epoch of session % must be starting', old.id;
  end if;
  if (new.status, new.epoch) is distinct from (old.status, old.epoch) or new.expires_at < new.due_at then
    new.due_at := new.expires_at;
  end if;
  new.updated_at := clock_timestamp();
  return new;
end $$;

create or replace trigger guard_session before update on omicron.browser_sessions
  for each row execute function omicron.guard_session();

create or replace function omicron.guard_runner() returns trigger language plpgsql as $$
begin
  if new.state <> old.state and not (
       (old.state = 'creating' and new.state in ('warm', 'claimed', 'draining'))
    or (old.state = 'warm' and new.state in ('claimed', 'draining'))
    or (old.state = 'claimed' and new.state in ('leased', 'draining'))
    or (old.state = 'leased' and new.state = 'draining')
    or (old.state = 'draining' and new.state = 'gone')
  ) then
    raise exception 'runner % may not go from % to %', old.id, old.state, new.state;
  end if;
  if old.assigned_at is not null and (new.session_id, new.epoch) is distinct from (old.session_id, old.epoch) then
    raise exception 'runner % was sent to session % epoch %, it may serve no other', old.id, old.session_id, old.epoch;
  end if;
  return new;
end $$;

-- After the update: before it, a trigger locks each row, and the lock is written to the WAL.
create or replace trigger guard_runner after update on omicron.runners
  for each row when (new.state <> old.state or (new.session_id, new.epoch) is distinct from (old.session_id, old.epoch))
  execute function omicron.guard_runner();
