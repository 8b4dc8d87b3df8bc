-- A session's append-only timeline. An event has the ids of the span that wrote it (controller/store/call.ts), where there is one.

create or replace function omicron.write_event(p_session uuid, p_epoch integer, p_kind text, p_data jsonb default '{}') returns void
language plpgsql as $$
begin
  insert into omicron.session_events (session_id, epoch, kind, data, tx)
  values (p_session, p_epoch, p_kind, p_data || coalesce(nullif(current_setting('omicron.span', true), ''), '{}')::jsonb, omicron.event_tx());
end $$;

-- Whether this runner ever held the lease of this epoch, live or over: whose timeline its reports may write.
create or replace function omicron.held_lease(p_session uuid, p_epoch integer, p_runner uuid) returns boolean
language sql stable as $$
  select exists (select from omicron.runners
                  where id = p_runner and session_id = p_session and epoch = p_epoch and redeemed_at is not null)
$$;

-- False: this runner never held that lease. A repeated event is written once.
create or replace function omicron.write_events(p_session uuid, p_epoch integer, p_runner uuid, p_events jsonb) returns boolean
language plpgsql as $$
declare
  v_tx bigint;
begin
  if not omicron.held_lease(p_session, p_epoch, p_runner) then
    return false;
  end if;
  v_tx := omicron.event_tx();
  insert into omicron.session_events (event_id, session_id, epoch, at, kind, data, tx)
  select e.id, p_session, p_epoch, clock_timestamp() - make_interval(secs => e.age_ms / 1000), e.kind, e.data, v_tx
    from jsonb_to_recordset(p_events) as e(id uuid, age_ms double precision, kind text, data jsonb)
   order by e.age_ms desc
  on conflict (event_id) do nothing;
  return true;
end $$;

-- Denials of the egress proxy, each in the timeline of its lease, live or over. A repeated event is written once.
create or replace function omicron.write_denials(p_events jsonb) returns void
language sql as $$
  insert into omicron.session_events (event_id, session_id, epoch, at, kind, tx, data)
  select e.id, e.session_id, e.epoch, clock_timestamp() - make_interval(secs => e.age_ms / 1000), 'egress.denied', (select omicron.event_tx()),
         jsonb_strip_nulls(jsonb_build_object('code', e.code, 'method', e.method, 'host', e.host, 'port', e.port,
           'address_class', e.address_class, 'rule', e.rule, 'layer', e.layer, 'count', e.count, 'trace_id', e.trace_id, 'span_id', e.span_id))
    from jsonb_to_recordset(p_events) as e(id uuid, session_id uuid, epoch integer, runner_id uuid, code text, method text,
           host text, port integer, address_class text, rule text, layer text, count integer, trace_id text, span_id text, age_ms double precision)
   where omicron.held_lease(e.session_id, e.epoch, e.runner_id)
  on conflict (event_id) do nothing
$$;
