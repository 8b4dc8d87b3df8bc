-- Calls of the gateway that a client has cancelled, perhaps at another replica than the one that leases their browser. Kept for some minutes.
create table omicron.cancelled_calls (
  call text primary key,
  cancelled_at timestamptz not null default clock_timestamp()
);
create index cancelled_calls_at on omicron.cancelled_calls (cancelled_at);
