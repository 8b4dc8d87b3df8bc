-- Endpoints to which events are sent. Each has one place in the order of events: all before it is delivered, waits in the row of its
-- session, or was given up. Nothing is written for an event that is delivered at once.
create table omicron.webhooks (
  id                  uuid primary key,
  url                 text not null,
  description         text not null,
  -- Null: every kind, every user.
  kinds               text[],
  user_id             text,
  -- Sealed by the controller. The one before signs as well until its time.
  secret              text not null,
  secret_before       text,
  secret_before_until timestamptz,
  created_at          timestamptz not null default clock_timestamp(),
  paused_at           timestamptz,
  -- Events that came before count as new from here on.
  resumed_at          timestamptz not null default clock_timestamp(),
  delivered_at        timestamptz,
  tx                  bigint not null,
  event_id            bigint not null,
  -- The delivery that holds it, of one replica.
  holder              uuid,
  held_until          timestamptz not null default clock_timestamp()
);

-- A session of which one event could not be delivered: it and those after it wait, and no other session does.
create table omicron.webhook_waits (
  webhook_id uuid not null references omicron.webhooks (id) on delete cascade,
  session_id uuid not null references omicron.browser_sessions (id) on delete cascade,
  -- The last event of the session that is done with.
  tx         bigint not null,
  event_id   bigint not null,
  attempts   integer not null,
  since      timestamptz not null default clock_timestamp(),
  next_at    timestamptz not null,
  error      text not null,
  primary key (webhook_id, session_id)
);
create index webhook_waits_by_session on omicron.webhook_waits (session_id);
create index webhook_waits_due on omicron.webhook_waits (webhook_id, next_at);

-- Events that were given up, for as long as they are kept.
create table omicron.webhook_failures (
  webhook_id uuid not null references omicron.webhooks (id) on delete cascade,
  event_id   bigint not null references omicron.session_events (id) on delete cascade,
  attempts   integer not null,
  error      text not null,
  failed_at  timestamptz not null default clock_timestamp(),
  replay     boolean not null default false,
  primary key (webhook_id, event_id)
);
create index webhook_failures_by_event on omicron.webhook_failures (event_id);
