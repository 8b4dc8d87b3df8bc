-- Callers that wait for a place where every one is taken, in order of arrival.
create table omicron.waiting_callers (
  place           bigint generated always as identity primary key,
  provider        text not null,
  user_id         text not null,
  conversation_id text not null,
  since           timestamptz not null default clock_timestamp(),
  -- a replica holds the call, and keeps this ahead
  waits_until     timestamptz not null,
  -- the caller was refused, and finds its place kept if it comes back by then
  kept_until      timestamptz not null,
  unique (user_id, conversation_id)
) with (fillfactor = 50);

-- How many places came free in the last minute.
create index runners_gone_at on omicron.runners (gone_at) where state = 'gone';
