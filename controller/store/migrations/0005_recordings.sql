-- Uploaders have a way out of their own, and what became of leases and recordings is counted.

-- The lease whose recordings a runner's uploader may still send: as long as its pod may be there, and a day after the lease's
-- end at most, which is what its artifact token has too. Null: none.
create function omicron.awaited_upload(p_runner uuid) returns jsonb
language sql stable as $$
  select jsonb_build_object('session_id', r.session_id, 'epoch', r.epoch, 'runner_id', r.id,
           'remaining_ms', floor(extract(epoch from
             coalesce(r.draining_at, clock_timestamp()) + interval '1 day' - clock_timestamp()) * 1000))
    from omicron.runners r
   where r.id = p_runner and r.recorded and r.redeemed_at is not null and r.state in ('leased', 'draining')
     and coalesce(r.draining_at, clock_timestamp()) + interval '1 day' > clock_timestamp()
$$;

-- Totals since the first day, so that neither replicas nor restarts lose any: read at each scrape of /metrics.
create table omicron.tallies (
  metric text not null check (metric in ('sessions_ended', 'recordings')),
  label  text not null,
  total  bigint not null,
  primary key (metric, label)
);

create function omicron.tally(p_metric text, p_label text) returns void
language sql as $$
  insert into omicron.tallies as t (metric, label, total) values (p_metric, p_label, 1)
  on conflict (metric, label) do update set total = t.total + 1
$$;

-- Every end of a lease writes one of these lines (close_lease).
create function omicron.tally_end() returns trigger language plpgsql as $$
begin
  perform omicron.tally('sessions_ended', new.data ->> 'reason');
  return null;
end $$;
create trigger tally_end after insert on omicron.session_events
  for each row when (new.kind in ('session.ended', 'session.error')) execute function omicron.tally_end();

-- A loss that turns out stored counts as both: a counter never falls.
create function omicron.tally_recording() returns trigger language plpgsql as $$
begin
  perform omicron.tally('recordings', new.state);
  return null;
end $$;
create trigger tally_recording after insert or update of state on omicron.artifacts
  for each row when (new.state in ('stored', 'lost')) execute function omicron.tally_recording();
