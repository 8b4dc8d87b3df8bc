-- Events out to endpoints. A delivery holds the endpoint's row, and only the holder moves its place: after a holder was killed, the next one
-- begins at the place.

-- A webhook as the API answers it.
create or replace function omicron.webhook_view(w omicron.webhooks) returns jsonb
language sql stable as $$
  select jsonb_build_object('id', w.id, 'url', w.url, 'description', w.description, 'kinds', w.kinds, 'user_id', w.user_id,
    'created_at', w.created_at, 'paused_at', w.paused_at, 'delivered_at', w.delivered_at,
    'waiting_sessions', (select count(*) from omicron.webhook_waits where webhook_id = w.id),
    'waiting_since', (select min(since) from omicron.webhook_waits where webhook_id = w.id),
    'last_error', (select error from omicron.webhook_waits where webhook_id = w.id order by next_at desc limit 1),
    'failed', (select count(*) from omicron.webhook_failures where webhook_id = w.id))
$$;

create or replace function omicron.list_webhooks(p_webhook uuid) returns setof jsonb
language sql stable as $$
  select omicron.webhook_view(w) from omicron.webhooks w where p_webhook is null or w.id = p_webhook order by w.created_at, w.id
$$;

-- A webhook for events from now on. Null: there are p_most.
create or replace function omicron.add_webhook(p_webhook uuid, p_url text, p_description text, p_kinds text[], p_user text, p_secret text,
  p_most integer) returns jsonb
language plpgsql as $$
begin
  perform pg_advisory_xact_lock(hashtextextended('omicron.webhooks', 0));
  if (select count(*) from omicron.webhooks) >= p_most then
    return null;
  end if;
  insert into omicron.webhooks (id, url, description, kinds, user_id, secret, tx, event_id)
  values (p_webhook, p_url, p_description, p_kinds, p_user, p_secret, omicron.event_horizon(), 0);
  return (select omicron.webhook_view(w) from omicron.webhooks w where id = p_webhook);
end $$;

-- Null: there is none. A webhook that is paused already, or not, stays as it is.
create or replace function omicron.pause_webhook(p_webhook uuid, p_paused boolean) returns jsonb
language plpgsql as $$
begin
  update omicron.webhooks
     set paused_at = case when p_paused then clock_timestamp() end,
         resumed_at = case when p_paused then resumed_at else clock_timestamp() end
   where id = p_webhook and (paused_at is null) = p_paused;
  if found and not p_paused then
    update omicron.webhook_waits set next_at = clock_timestamp() where webhook_id = p_webhook;
  end if;
  return (select omicron.webhook_view(w) from omicron.webhooks w where id = p_webhook);
end $$;

-- The secret before signs beside the new one for p_both_seconds. False: there is no such webhook.
create or replace function omicron.rotate_webhook_secret(p_webhook uuid, p_secret text, p_both_seconds double precision) returns boolean
language plpgsql as $$
begin
  update omicron.webhooks
     set secret_before = secret, secret_before_until = clock_timestamp() + make_interval(secs => p_both_seconds), secret = p_secret
   where id = p_webhook;
  return found;
end $$;

-- Both sealed secrets, as they sign now.
create or replace function omicron.webhook_secrets(w omicron.webhooks) returns jsonb
language sql stable as $$
  select jsonb_build_array(w.secret) ||
    case when w.secret_before_until > clock_timestamp() then jsonb_build_array(w.secret_before) else '[]' end
$$;

-- URL and secrets, for one delivery outside of the order. Null: there is no such webhook.
create or replace function omicron.webhook_target(p_webhook uuid) returns jsonb
language sql stable as $$
  select jsonb_build_object('url', w.url, 'secrets', omicron.webhook_secrets(w)) from omicron.webhooks w where id = p_webhook
$$;

-- Webhooks that no one delivers.
create or replace function omicron.free_webhooks() returns setof uuid
language sql stable as $$
  select id from omicron.webhooks where paused_at is null and (holder is null or held_until < clock_timestamp()) order by id
$$;

-- Takes a free webhook, or holds the one that it has, for p_seconds. Null: paused, gone, or another's. {url, secrets, kinds, user_id, tx,
-- event_id, due: whether a wait or a replay is due}.
create or replace function omicron.hold_webhook(p_webhook uuid, p_holder uuid, p_first boolean, p_seconds double precision) returns jsonb
language plpgsql as $$
declare
  w omicron.webhooks;
begin
  update omicron.webhooks set holder = p_holder, held_until = clock_timestamp() + make_interval(secs => p_seconds)
   where id = p_webhook and paused_at is null
     and case when p_first then holder is null or held_until < clock_timestamp() else holder = p_holder end
  returning * into w;
  if not found then
    return null;
  end if;
  return jsonb_build_object('url', w.url, 'secrets', omicron.webhook_secrets(w), 'kinds', w.kinds, 'user_id', w.user_id,
    'tx', w.tx::text, 'event_id', w.event_id::text,
    'due', exists (select from omicron.webhook_waits where webhook_id = w.id and next_at <= clock_timestamp())
        or exists (select from omicron.webhook_failures where webhook_id = w.id and replay));
end $$;

create or replace function omicron.release_webhook(p_webhook uuid, p_holder uuid) returns void
language sql as $$
  update omicron.webhooks set holder = null where id = p_webhook and holder = p_holder
$$;

-- Locks the webhook of a holder. False: it is another's now.
create or replace function omicron.holds_webhook(p_webhook uuid, p_holder uuid) returns boolean
language plpgsql as $$
begin
  perform from omicron.webhooks where id = p_webhook and holder = p_holder for update;
  return found;
end $$;

-- Sessions of which events wait.
create or replace function omicron.waiting_sessions(p_webhook uuid) returns uuid[]
language sql stable as $$
  select coalesce(array_agg(session_id), '{}') from omicron.webhook_waits where webhook_id = p_webhook
$$;

-- Moves the place, and lets sessions wait from the place that each has reached: [{session_id, tx, event_id, error}]. False: it is another's.
create or replace function omicron.advance_webhook(p_webhook uuid, p_holder uuid, p_tx bigint, p_event bigint, p_delivered boolean,
  p_waits jsonb, p_wait_seconds double precision) returns boolean
language plpgsql as $$
begin
  if not omicron.holds_webhook(p_webhook, p_holder) then
    return false;
  end if;
  update omicron.webhooks
     set tx = p_tx, event_id = p_event, delivered_at = case when p_delivered then clock_timestamp() else delivered_at end
   where id = p_webhook;
  if p_waits <> '[]' then
    insert into omicron.webhook_waits (webhook_id, session_id, tx, event_id, attempts, next_at, error)
    select p_webhook, w.session_id, w.tx, w.event_id, 1, clock_timestamp() + make_interval(secs => p_wait_seconds), w.error
      from jsonb_to_recordset(p_waits) as w(session_id uuid, tx bigint, event_id bigint, error text)
      join omicron.browser_sessions s on s.id = w.session_id -- one that was erased meanwhile has no events any more
     order by w.session_id for key share of s;
  end if;
  return true;
end $$;

-- Events as the stream has them, and `old`: they have been tried, or could have been, for as long as p_patience.
create or replace function omicron.webhook_event(e omicron.session_events, s omicron.browser_sessions, w omicron.webhooks,
  p_patience double precision) returns jsonb
language sql stable as $$
  select jsonb_build_object('tx', e.tx, 'id', e.id, 'session_id', e.session_id, 'user_id', s.user_id, 'conversation_id', s.conversation_id,
    'epoch', e.epoch, 'at', e.at, 'kind', e.kind, 'data', e.data,
    'old', greatest(e.at, w.resumed_at) < clock_timestamp() - make_interval(secs => p_patience))
$$;

-- Sessions whose next attempt is due, the longest waiting first, each with at most p_events events up to the webhook's place:
-- {session_id, attempts, tx, event_id, events, more}.
create or replace function omicron.due_waits(p_webhook uuid, p_most integer, p_events integer, p_patience double precision)
returns setof jsonb
language sql stable as $$
  select jsonb_build_object('session_id', d.session_id, 'attempts', d.attempts,
           'tx', d.tx::text, 'event_id', d.event_id::text,
           'events', coalesce(jsonb_agg(omicron.webhook_event(x.e, s, w, p_patience) order by (x.e).tx, (x.e).id)
                                filter (where (x.e).id is not null), '[]'),
           'more', count((x.e).id) = p_events)
    from omicron.webhooks w
    cross join lateral (
      select * from omicron.webhook_waits where webhook_id = w.id and next_at <= clock_timestamp() order by next_at limit p_most) d
    join omicron.browser_sessions s on s.id = d.session_id
    left join lateral (
      -- by the session, not by the order of all events
      select e from omicron.session_events e
       where e.session_id = d.session_id and (e.tx, e.id) > (d.tx, d.event_id) and (e.tx, e.id) <= (w.tx, w.event_id)
         and (w.kinds is null or e.kind = any (w.kinds))
       order by e.tx + 0, e.id limit p_events) x on true
   where w.id = p_webhook
   group by d.session_id, d.attempts, d.tx, d.event_id, d.next_at
   order by d.next_at
$$;

-- One round of a waiting session: the place that it has reached, what was given up ([{event_id, attempts, error}]), and `p_error` of the
-- event at which it stopped, or null. It waits no longer where p_done. Other sessions are tried again once one delivery succeeds.
create or replace function omicron.settle_wait(p_webhook uuid, p_holder uuid, p_session uuid, p_tx bigint, p_event bigint, p_delivered boolean,
  p_done boolean, p_error text, p_next_seconds double precision, p_given_up jsonb) returns boolean
language plpgsql as $$
begin
  if not omicron.holds_webhook(p_webhook, p_holder) then
    return false;
  end if;
  insert into omicron.webhook_failures (webhook_id, event_id, attempts, error)
  select p_webhook, g.event_id, g.attempts, g.error
    from jsonb_to_recordset(p_given_up) as g(event_id bigint, attempts integer, error text)
    join omicron.session_events e on e.id = g.event_id -- an event past its retention cannot be replayed
   order by g.event_id for key share of e
  on conflict do nothing;
  if p_done then
    delete from omicron.webhook_waits where webhook_id = p_webhook and session_id = p_session;
  else
    update omicron.webhook_waits
       set attempts = case when (tx, event_id) = (p_tx, p_event) then attempts else 0 end + case when p_error is null then 0 else 1 end,
           tx = p_tx, event_id = p_event, error = coalesce(p_error, error),
           next_at = clock_timestamp() + make_interval(secs => p_next_seconds)
     where webhook_id = p_webhook and session_id = p_session;
  end if;
  if p_delivered then
    update omicron.webhooks set delivered_at = clock_timestamp() where id = p_webhook;
    update omicron.webhook_waits set next_at = clock_timestamp()
     where webhook_id = p_webhook and session_id <> p_session and next_at > clock_timestamp();
  end if;
  return true;
end $$;

-- Events that were given up, those that failed last first: at most p_most after the failure of p_after.
create or replace function omicron.list_webhook_failures(p_webhook uuid, p_before bigint, p_most integer) returns setof jsonb
language sql stable as $$
  select omicron.webhook_event(e, s, w, 0) - 'old'
         || jsonb_build_object('attempts', f.attempts, 'error', f.error, 'failed_at', f.failed_at, 'replaying', f.replay)
    from omicron.webhook_failures f
    join omicron.webhooks w on w.id = f.webhook_id
    join omicron.session_events e on e.id = f.event_id
    join omicron.browser_sessions s on s.id = e.session_id
   where f.webhook_id = p_webhook and (p_before is null or f.event_id < p_before)
   order by f.event_id desc limit p_most
$$;

-- Asks for one more attempt of these events, or of all that were given up. Answers how many.
create or replace function omicron.replay_webhook(p_webhook uuid, p_events bigint[]) returns integer
language plpgsql as $$
declare
  v_count integer;
begin
  update omicron.webhook_failures set replay = true
   where webhook_id = p_webhook and (p_events is null or event_id = any (p_events));
  get diagnostics v_count = row_count;
  return v_count;
end $$;

create or replace function omicron.replayed_events(p_webhook uuid, p_most integer) returns setof jsonb
language sql stable as $$
  select omicron.webhook_event(e, s, w, 0)
    from omicron.webhook_failures f
    join omicron.webhooks w on w.id = f.webhook_id
    join omicron.session_events e on e.id = f.event_id
    join omicron.browser_sessions s on s.id = e.session_id
   where f.webhook_id = p_webhook and f.replay
   order by e.tx, e.id limit p_most
$$;

-- Ends the attempts of a replay: delivered ones leave the list. Those of a session after one that failed ([{event_id, session_id, error}])
-- are not tried, and stay.
create or replace function omicron.settle_replay(p_webhook uuid, p_holder uuid, p_delivered bigint[], p_failed jsonb) returns boolean
language plpgsql as $$
begin
  if not omicron.holds_webhook(p_webhook, p_holder) then
    return false;
  end if;
  delete from omicron.webhook_failures where webhook_id = p_webhook and event_id = any (p_delivered);
  update omicron.webhook_failures f set attempts = f.attempts + 1, error = x.error, failed_at = clock_timestamp()
    from jsonb_to_recordset(p_failed) as x(event_id bigint, error text)
   where f.webhook_id = p_webhook and f.event_id = x.event_id;
  update omicron.webhook_failures f set replay = false
    from jsonb_to_recordset(p_failed) as x(session_id uuid), omicron.session_events e
   where f.webhook_id = p_webhook and f.replay and e.id = f.event_id and e.session_id = x.session_id;
  return true;
end $$;
