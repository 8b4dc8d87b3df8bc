-- Totals, divided among rows: ends that commit at once wait for one another at a row that all of them write. Summed when read, with the totals
-- in `omicron.tallies`, to which nothing is added any more; they stay there, since a replica of the release before reads that table alone.
create table omicron.tally_shards (
  metric text not null,
  label  text not null,
  shard  smallint not null,
  total  bigint not null,
  primary key (metric, label, shard)
) with (fillfactor = 50);
