-- Totals of what became of leases and recordings, since the first day: neither replicas nor restarts lose any. Read
-- at each scrape of /metrics.
create table omicron.tallies (
  metric text not null check (metric in ('sessions_ended', 'recordings')),
  label  text not null,
  total  bigint not null,
  primary key (metric, label)
);
