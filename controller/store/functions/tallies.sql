-- Ends of leases and recordings, counted where they are written.

-- A connection writes one of 32 rows of a label: the next connections of a server write others.
create or replace function omicron.tally(p_metric text, p_label text) returns void
language sql as $$
  insert into omicron.tally_shards as t (metric, label, shard, total) values (p_metric, p_label, pg_backend_pid() % 32, 1)
  on conflict (metric, label, shard) do update set total = t.total + 1
$$;

-- Every end of a lease writes one of these events (close_lease).
create or replace function omicron.tally_end() returns trigger language plpgsql as $$
begin
  perform omicron.tally('sessions_ended', new.data ->> 'reason');
  return null;
end $$;

create or replace trigger tally_end after insert on omicron.session_events
  for each row when (new.kind in ('session.ended', 'session.error')) execute function omicron.tally_end();

-- Counts an event under its kind's last part; the trigger names the metric.
create or replace function omicron.tally_kind() returns trigger language plpgsql as $$
begin
  perform omicron.tally(tg_argv[0], split_part(new.kind, '.', 2));
  return null;
end $$;

create or replace trigger tally_freeze after insert on omicron.session_events
  for each row when (new.kind in ('browser.frozen', 'browser.thawed')) execute function omicron.tally_kind('freezes');

create or replace trigger tally_hibernation after insert on omicron.session_events
  for each row when (new.kind in ('session.hibernated', 'session.restored', 'session.restore_failed', 'session.hibernate_failed'))
  execute function omicron.tally_kind('hibernations');

-- A recording reported lost and stored later counts as both: a counter never falls.
create or replace function omicron.tally_recording() returns trigger language plpgsql as $$
begin
  perform omicron.tally('recordings', new.state);
  return null;
end $$;

create or replace trigger tally_recording after insert or update of state on omicron.artifacts
  for each row when (new.kind = 'video' and new.state in ('stored', 'lost')) execute function omicron.tally_recording();
