-- The order of events in the stream of all sessions. Ids come from a sequence: a transaction that is committed later may have smaller ones,
-- and a reader that has passed them would miss its events. Transactions are numbered when they first write, and whichever is below
-- the oldest that runs is over. Events that were written before are below all.
alter table omicron.session_events add column tx bigint not null default 0;
create index session_events_in_order on omicron.session_events (tx, id);

-- Added to the numbers of this Postgres: those of a server to which a dump was restored may be below what the dump has.
create table omicron.event_clock (
  one  boolean primary key default true check (one),
  base bigint not null
);
insert into omicron.event_clock (base) values (0);
