-- Sessions, runners, permits, timeline, artifacts. All of it lives in a schema of its own: PostgREST (Supabase)
-- publishes `public`, and nothing here is for the public.
create table omicron.browser_sessions (
  id                  uuid primary key default gen_random_uuid(),
  user_id             text not null,
  conversation_id     text not null,
  status              text not null check (status in ('starting', 'ready', 'ended', 'error')),
  mcp_url             text,
  k8s_namespace       text not null,
  pod_name            text,
  service_name        text,
  created_at          timestamptz not null default clock_timestamp(),
  updated_at          timestamptz not null default clock_timestamp(),
  last_used_at        timestamptz not null default clock_timestamp(),
  expires_at          timestamptz not null,
  claim_id            uuid,
  error               text,
  artifacts_s3_prefix text,
  -- the fencing token: rises by one with every claim, never falls
  epoch               integer not null check (epoch >= 1),
  provider            text not null,
  runner_id           uuid,
  -- a live claimer keeps this 15 s ahead; past it the claim may be taken over
  claim_until         timestamptz,
  starting_since      timestamptz,
  ttl_seconds         integer not null check (ttl_seconds > 0),
  -- the lease's maximum age; expires_at never passes it
  ends_at             timestamptz not null,
  ended_reason        text,
  options             jsonb not null,
  tags                jsonb not null default '{}',
  archived_at         timestamptz,
  unique (user_id, conversation_id),
  check (expires_at <= ends_at),
  check (status <> 'ready' or (mcp_url is not null and runner_id is not null and claim_id is not null)),
  check (status <> 'starting' or (claim_id is not null and claim_until is not null and starting_since is not null)),
  check (status in ('starting', 'ready') or claim_id is null)
);
create index browser_sessions_expires_at on omicron.browser_sessions (expires_at);
create index browser_sessions_status on omicron.browser_sessions (status);
create index browser_sessions_live_by_user on omicron.browser_sessions (user_id) where status in ('starting', 'ready');
create index browser_sessions_newest on omicron.browser_sessions (created_at desc, id desc);
create index browser_sessions_tags on omicron.browser_sessions using gin (tags jsonb_path_ops);

create table omicron.runners (
  id              uuid primary key default gen_random_uuid(),
  provider        text not null,
  -- digest of what the runner is made from; warm runners of another one are replaced
  template        text not null,
  state           text not null default 'creating'
                  check (state in ('creating', 'warm', 'claimed', 'leased', 'draining', 'gone')),
  boot_id         uuid,
  endpoint        text,
  session_id      uuid references omicron.browser_sessions (id),
  epoch           integer,
  -- set before an assignment is sent: a runner that was sent nothing may be inherited by a takeover
  assigned_at     timestamptz,
  redeemed_at     timestamptz,
  -- the runner closes by its own clock before this; moved by every grant that it was told of
  deadline_at     timestamptz,
  -- it said that it serves nobody any more
  acknowledged_at timestamptz,
  seen_at         timestamptz,
  -- whether its lease is recorded; null before it has one
  recorded        boolean,
  reason          text,
  -- whoever works at this row (launch, drain) holds it until then
  work_until      timestamptz not null default '-infinity',
  created_at      timestamptz not null default clock_timestamp(),
  warm_at         timestamptz,
  draining_at     timestamptz,
  gone_at         timestamptz,
  -- one epoch is one runner, for ever
  unique (session_id, epoch),
  check ((session_id is null) = (epoch is null)),
  check (state not in ('claimed', 'leased') or session_id is not null),
  check (state in ('creating', 'draining', 'gone') or (boot_id is not null and endpoint is not null))
);
create index runners_warm on omicron.runners (warm_at) where state = 'warm';
create index runners_working on omicron.runners (state, work_until) where state in ('creating', 'draining');
create index runners_live on omicron.runners (provider) where state <> 'gone';

-- The global cap is the number of rows; a row is held from a runner's intent until its process is gone.
create table omicron.permits (
  slot      integer primary key,
  runner_id uuid unique references omicron.runners (id)
);
create index permits_free on omicron.permits (slot) where runner_id is null;

create table omicron.session_events (
  id         bigint generated always as identity primary key,
  event_id   uuid not null unique default gen_random_uuid(),
  session_id uuid not null references omicron.browser_sessions (id),
  epoch      integer not null,
  at         timestamptz not null default clock_timestamp(),
  kind       text not null,
  data       jsonb not null default '{}'
);
create index session_events_by_session on omicron.session_events (session_id, id);

create table omicron.artifacts (
  id         uuid primary key default gen_random_uuid(),
  session_id uuid not null references omicron.browser_sessions (id),
  epoch      integer not null,
  runner_id  uuid not null references omicron.runners (id),
  name       text not null,
  kind       text not null default 'video' check (kind = 'video'),
  state      text not null check (state in ('stored', 'lost', 'expired')),
  uri        text,
  bytes      bigint,
  reason     text,
  created_at timestamptz not null default clock_timestamp(),
  unique (runner_id, name),
  check (state <> 'stored' or (uri is not null and bytes is not null)),
  check (state <> 'lost' or reason is not null)
);
create index artifacts_by_session on omicron.artifacts (session_id);
create index artifacts_stored on omicron.artifacts (created_at) where state = 'stored';
