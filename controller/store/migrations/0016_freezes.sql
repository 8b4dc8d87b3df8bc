-- How often browsers were frozen is counted too.
alter table omicron.tallies drop constraint tallies_metric_check;
alter table omicron.tallies add constraint tallies_metric_check check (metric in ('sessions_ended', 'recordings', 'freezes'));
