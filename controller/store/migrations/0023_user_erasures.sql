-- Users of whom everything is to be removed: the intent, so that a crash leaves nothing half removed, and what was removed by now.
create table omicron.user_erasures (
  user_id  text primary key,
  asked_at timestamptz not null default clock_timestamp(),
  removed  jsonb not null default '{}'
);
