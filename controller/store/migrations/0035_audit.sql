-- Entries of the audit that are in no file yet: `omicron.audit_take` moves them into one. `tx` as that of events.
create table omicron.audit_entries (
  id    bigint generated always as identity primary key,
  tx    bigint not null,
  at    timestamptz not null default clock_timestamp(),
  entry jsonb not null
);
create index audit_entries_in_order on omicron.audit_entries (tx, id);

-- The chain of files. The last one is here with its text until it is known to be in the bucket.
create table omicron.audit_chain (
  one        boolean primary key default true check (one),
  -- False: no controller exports, and no entry is written.
  active     boolean not null default false,
  sequence   bigint not null default 0,
  sha256     text not null default repeat('0', 64),
  pending    text,
  cut_at     timestamptz not null default clock_timestamp(),
  -- The replica that writes the pending file has this long.
  held_until timestamptz not null default clock_timestamp()
);
insert into omicron.audit_chain default values;
