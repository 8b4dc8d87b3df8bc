/**
 * Time that a history moves. The functions of the store call `clock_timestamp()` without its schema, so a search path with another
 * one first gives them this clock. It stands still during a step, and is the same for all connections.
 */
export const VIRTUAL_CLOCK = `
create schema proof;
create sequence proof.clock minvalue 0 start 1;
create sequence proof.uuids;
select setval('proof.clock', 1), setval('proof.uuids', 1);
create function proof.clock_timestamp() returns timestamptz language sql volatile as $$
  select timestamptz '2030-01-01 00:00:00Z' + pg_sequence_last_value('proof.clock'::regclass) * interval '1 millisecond'
$$;
create function proof.gen_random_uuid() returns uuid language sql volatile as $$
  select overlay(overlay(md5(nextval('proof.uuids')::text) placing '4' from 13) placing '8' from 17)::uuid
$$;`;

/** A connection's parameter: before `pg_catalog`, which would otherwise come first. */
export const VIRTUAL_SEARCH_PATH = '-c search_path=proof,pg_catalog';

/** Milliseconds of `proof.clock` at which a database's clock starts. */
export const CLOCK_START_MS = Date.parse('2030-01-01T00:00:00Z');
