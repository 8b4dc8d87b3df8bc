-- Events of all sessions in one order, the same on each replica. https://www.postgresql.org/docs/current/functions-info.html#FUNCTIONS-PG-SNAPSHOT

-- The number of the running transaction.
create or replace function omicron.event_tx() returns bigint
language sql volatile as $$
  select base + pg_current_xact_id()::text::bigint from omicron.event_clock
$$;

-- No transaction below it will write an event any more, and the events of each that did are visible.
create or replace function omicron.event_horizon() returns bigint
language sql stable as $$
  select base + pg_snapshot_xmin(pg_current_snapshot())::text::bigint from omicron.event_clock
$$;

-- After a dump was restored to another server: new events come after those of the dump. On one server each number is below the next one.
create or replace function omicron.resume_event_clock() returns void
language plpgsql as $$
begin
  perform pg_advisory_xact_lock(hashtextextended('omicron.event_clock', 0));
  update omicron.event_clock set base = e.last + 1 - x.next
    -- the place of a webhook may be after the last event: at the next number, at most
    from (select greatest((select max(tx) from omicron.session_events), (select max(tx) - 1 from omicron.webhooks),
                          (select max(tx) from omicron.audit_entries)) as last) e,
         (select pg_snapshot_xmax(pg_current_snapshot())::text::bigint as next) x
   where e.last >= base + x.next;
end $$;

-- One page of events after a place, in order. {ahead: true}: the place is not of this database. {events, tx, id}: `tx` and `id` are the place at
-- which the page ends, of what does not match too. A null parameter is no condition.
create or replace function omicron.events_after(p_tx bigint, p_id bigint, p_user text, p_session uuid, p_kinds text[], p_most integer)
returns jsonb
language sql stable as $$
  with horizon as materialized (select omicron.event_horizon() as tx),
  page as materialized (
    select e.tx, e.id, e.session_id, s.user_id, s.conversation_id, e.epoch, e.at, e.kind, e.data
      from omicron.session_events e join omicron.browser_sessions s on s.id = e.session_id
     where (e.tx, e.id) > (p_tx, p_id) and e.tx < (select tx from horizon)
       and (p_user is null or s.user_id = p_user) and (p_session is null or e.session_id = p_session)
       and (p_kinds is null or e.kind = any (p_kinds))
     order by e.tx, e.id limit p_most),
  last as (
    select tx, id from page where (select count(*) from page) = p_most order by tx desc, id desc limit 1)
  select case when p_tx > h.tx then jsonb_build_object('ahead', true)
    else jsonb_build_object('ahead', false,
      'events', (select coalesce(jsonb_agg(to_jsonb(p) order by p.tx, p.id), '[]') from page p),
      'tx', coalesce((select tx from last), h.tx)::text, 'id', coalesce((select id from last), 0)::text) end
    from horizon h
$$;
