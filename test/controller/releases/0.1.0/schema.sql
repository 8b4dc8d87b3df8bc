-- The schema of 0.1.0, written by `npm run schema`.

create schema omicron;
create table if not exists omicron.migrations (
  name text primary key, digest text not null, applied_at timestamptz not null default clock_timestamp(), declares text[]
);

-- 0001_tables.sql
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

-- 0004_policies.sql
-- What sessions may do, in layers: one document for the deployment, one a user, one a session. Versions come from one
-- sequence, so that a document that was deleted and stored again never looks unchanged.
create sequence omicron.policy_versions;
create table omicron.policies (
  layer      text not null check (layer in ('deployment', 'user', 'session')),
  -- user id or session id; empty for the deployment
  subject    text not null default '' check ((layer = 'deployment') = (subject = '')),
  document   jsonb not null,
  version    bigint not null default nextval('omicron.policy_versions'),
  updated_at timestamptz not null default clock_timestamp(),
  primary key (layer, subject)
);

-- What an agent asks of its user, and the answer (A10).
create table omicron.user_actions (
  id          uuid primary key,
  session_id  uuid not null references omicron.browser_sessions (id),
  epoch       integer not null,
  reason      text not null,
  status      text not null default 'pending' check (status in ('pending', 'done', 'declined', 'expired')),
  note        text,
  created_at  timestamptz not null default clock_timestamp(),
  expires_at  timestamptz not null,
  answered_at timestamptz
);
create index user_actions_by_session on omicron.user_actions (session_id, created_at);

-- 0005_recordings.sql
-- Totals of what became of leases and recordings, since the first day: neither replicas nor restarts lose any. Read
-- at each scrape of /metrics.
create table omicron.tallies (
  metric text not null check (metric in ('sessions_ended', 'recordings')),
  label  text not null,
  total  bigint not null,
  primary key (metric, label)
);

-- 0008_profiles.sql
-- Profiles: what a browser keeps of its logins from one lease to the next. The content is in the profile store,
-- encrypted under a key of the user; erasing the key erases the profiles.
create table omicron.profile_keys (
  user_id    text primary key,
  -- the user's data key, encrypted under the deployment's
  wrapped    text not null,
  created_at timestamptz not null default clock_timestamp()
);

create table omicron.profiles (
  id           uuid primary key default gen_random_uuid(),
  user_id      text not null,
  name         text not null,
  -- the head: the current version; 0 before the first save
  version      integer not null default 0,
  -- the one runner that may save: set by a redemption, cleared when the runner has saved for the last time
  writer       uuid references omicron.runners (id),
  created_at   timestamptz not null default clock_timestamp(),
  last_used_at timestamptz not null default clock_timestamp(),
  unique (user_id, name)
);
create index profiles_by_writer on omicron.profiles (writer) where writer is not null;

-- Every object that may be in the store. `writing` before its bytes are written, `kept` by the version that names it,
-- `removing` before they are removed: what a crash leaves behind is found here.
create table omicron.profile_objects (
  name  text primary key,
  state text not null default 'writing' check (state in ('writing', 'kept', 'removing')),
  since timestamptz not null default clock_timestamp()
);
create index profile_objects_loose on omicron.profile_objects (since) where state <> 'kept';

create table omicron.profile_versions (
  profile_id uuid not null references omicron.profiles (id) on delete cascade,
  version    integer not null check (version >= 1),
  object     text not null unique references omicron.profile_objects (name),
  -- HMAC of the content under the user's key: the same content is not saved twice
  digest     text not null,
  bytes      bigint not null,
  -- [{domain, expires_at}]: when the last login cookie of a domain expires
  domains    jsonb not null,
  session_id uuid,
  epoch      integer,
  saved_at   timestamptz not null default clock_timestamp(),
  primary key (profile_id, version)
);

-- Which leases have a profile: read by each claim of one.
create index browser_sessions_by_profile on omicron.browser_sessions (user_id, ((options -> 'profile') ->> 'name'))
  where status in ('starting', 'ready');

-- 0009_files.sql
-- Files of sessions are artifacts beside the videos.
alter table omicron.artifacts drop constraint artifacts_kind_check;
alter table omicron.artifacts add constraint artifacts_kind_check check (kind in ('video', 'file'));

-- 0015_profile_chunks.sql
-- Complete profiles: the browser's files, cut into encrypted chunks that the versions of one profile share.

-- Whose an object is, and what it takes: the quota counts each object once.
alter table omicron.profile_objects add column profile_id uuid, add column bytes bigint not null default 0;
update omicron.profile_objects o set profile_id = v.profile_id, bytes = v.bytes
  from omicron.profile_versions v where v.object = o.name;
create index profile_objects_by_profile on omicron.profile_objects (profile_id);

alter table omicron.profile_versions add column form text not null default 'light' check (form in ('light', 'complete'));

-- Which chunks a version names. No chunk's row, and so no chunk, goes while one does.
create table omicron.profile_version_chunks (
  profile_id uuid not null,
  version    integer not null,
  object     text not null references omicron.profile_objects (name),
  primary key (profile_id, version, object),
  foreign key (profile_id, version) references omicron.profile_versions (profile_id, version) on delete cascade
);
create index profile_version_chunks_by_object on omicron.profile_version_chunks (object);

-- 0016_freezes.sql
-- How often browsers were frozen is counted too.
alter table omicron.tallies drop constraint tallies_metric_check;
alter table omicron.tallies add constraint tallies_metric_check check (metric in ('sessions_ended', 'recordings', 'freezes'));

-- 0017_profile_retention.sql
-- A profile that no lease has used for long is deleted.
create index profiles_by_use on omicron.profiles (last_used_at);

-- 0019_hibernation.sql
-- Hibernated sessions: what their browsers held is kept, encrypted, while they have no runner.
alter table omicron.browser_sessions drop constraint browser_sessions_status_check;
alter table omicron.browser_sessions add constraint browser_sessions_status_check
  check (status in ('starting', 'ready', 'hibernated', 'ended', 'error'));

-- Until when the snapshot of the session is kept; null: it has none. Set while it is hibernated and while it is restored.
alter table omicron.browser_sessions add column hibernated_until timestamptz;
alter table omicron.browser_sessions add constraint browser_sessions_hibernated
  check (status <> 'hibernated' or hibernated_until is not null);

-- Leases that are hibernated instead of expiring, where that was asked for.
create index browser_sessions_hibernating on omicron.browser_sessions (expires_at)
  where status = 'ready' and options ->> 'hibernate' = 'expiry';

-- When the platform let the lease go; null: it is held. A released lease gives way to another one.
alter table omicron.browser_sessions add column released_at timestamptz;
create index browser_sessions_released on omicron.browser_sessions (released_at) where status = 'ready' and released_at is not null;

-- A snapshot is a profile of its session alone, which has no name that a user could give.
alter table omicron.profiles add column session_id uuid unique references omicron.browser_sessions (id);

-- When a runner was first seen leaving: with its node it may have some seconds to hibernate its session.
alter table omicron.runners add column leaving_at timestamptz;

alter table omicron.tallies drop constraint tallies_metric_check;
alter table omicron.tallies add constraint tallies_metric_check
  check (metric in ('sessions_ended', 'recordings', 'freezes', 'hibernations'));

-- 0020_pages.sql
-- Kept pages of sessions are artifacts beside the videos.
alter table omicron.artifacts drop constraint artifacts_kind_check;
alter table omicron.artifacts add constraint artifacts_kind_check check (kind in ('video', 'file', 'page'));

-- 0021_redemption_key.sql
-- What the process that redeemed asks again with, when the answer was lost.
alter table omicron.runners add column redemption_key uuid;

-- 0022_cancelled_calls.sql
-- Calls of the gateway that a client has cancelled, perhaps at another replica than the one that leases their browser. Kept for some minutes.
create table omicron.cancelled_calls (
  call text primary key,
  cancelled_at timestamptz not null default clock_timestamp()
);
create index cancelled_calls_at on omicron.cancelled_calls (cancelled_at);

-- 0023_user_erasures.sql
-- Users of whom everything is to be removed: the intent, so that a crash leaves nothing half removed, and what was removed by now.
create table omicron.user_erasures (
  user_id  text primary key,
  asked_at timestamptz not null default clock_timestamp(),
  removed  jsonb not null default '{}'
);

-- 0024_retention.sql
-- The highest epochs of sessions whose rows were removed, by a digest of user and conversation: 4,096 rows at most, and no names. The
-- next session of a conversation begins above: the epoch that a platform sees for it never falls.
create table omicron.epoch_floors (
  place integer primary key,
  epoch integer not null
);
-- Runners that had no lease and are gone, for their removal.
create index runners_unleased_gone on omicron.runners (gone_at) where state = 'gone' and session_id is null;

-- 0025_launches.sql
-- When a worker began to launch it: its time to start counts from here. Until then it waits for its turn.
alter table omicron.runners add column launched_at timestamptz;

-- 0026_due_files.sql
-- Files go with their session unless its lease keeps them: from `due_at` on their objects are removed. Null: not decided yet; infinity: kept.
alter table omicron.artifacts add column due_at timestamptz;
create index artifacts_due on omicron.artifacts (due_at) where state = 'stored' and due_at is not null;

-- 0027_line.sql
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

-- 0028_hot_updates.sql
-- Reports and heartbeats move expires_at. An index of its values made each of them write to every index of the table; one of ranges does
-- not, and leases that are due are found among the live ones.
drop index omicron.browser_sessions_expires_at;
create index browser_sessions_expires_at on omicron.browser_sessions using brin (expires_at);
drop index omicron.browser_sessions_hibernating;
create index browser_sessions_hibernating on omicron.browser_sessions (provider)
  where status = 'ready' and options ->> 'hibernate' = 'expiry';
-- Room for the next version of a row beside it.
alter table omicron.browser_sessions set (fillfactor = 70);
alter table omicron.runners set (fillfactor = 70);

-- A page of the list by status.
create index browser_sessions_live_newest on omicron.browser_sessions (status, created_at desc, id desc)
  where status in ('starting', 'ready', 'hibernated');

-- User actions that wait, by the time at which each is over.
create index user_actions_pending on omicron.user_actions (expires_at) where status = 'pending';

-- 0029_event_order.sql
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

-- 0030_credential_questions.sql
-- A question whether a credential may be used on a site: its key, the host, and what is stored with it for good.
alter table omicron.user_actions add column credential jsonb;

-- 0031_answered_by.sql
-- The person who answered a user action: their name and their identity among people.
alter table omicron.user_actions add column answered_by jsonb;

-- 0032_usage.sql
-- Usage of a period is counted from its leases and artifacts alone, however many came before. A lease shorter than an hour is found by when
-- it began; longer ones, and those that live, are few.
create index runners_redeemed_at on omicron.runners (redeemed_at) where redeemed_at is not null;
create index runners_long on omicron.runners (redeemed_at)
  where redeemed_at is not null and (coalesce(draining_at, gone_at) - redeemed_at < interval '1 hour') is not true;
create index artifacts_created_at on omicron.artifacts (created_at) where state <> 'lost';

-- 0033_yields.sql
-- A released lease that was chosen to give way to a caller in the line: until then no replica chooses it again, and its place is expected.
alter table omicron.browser_sessions add column yields_until timestamptz;

-- 0034_webhooks.sql
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

-- 0035_audit.sql
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

-- 0036_tally_shards.sql
-- Totals, divided among rows: ends that commit at once wait for one another at a row that all of them write. Summed when read, with the totals
-- in `omicron.tallies`, to which nothing is added any more; they stay there, since a replica of the release before reads that table alone.
create table omicron.tally_shards (
  metric text not null,
  label  text not null,
  shard  smallint not null,
  total  bigint not null,
  primary key (metric, label, shard)
) with (fillfactor = 50);

-- 0037_due_artifacts.sql
-- Artifacts past their days, oldest first; pages have days of their own. The columns are times in UTC: for the times themselves the planner
-- would take `artifacts_created_at`, which has the artifacts that have expired too.
drop index omicron.artifacts_stored;
create index artifacts_stored on omicron.artifacts ((created_at at time zone 'UTC'), id) where state = 'stored' and kind <> 'page';
create index artifacts_stored_pages on omicron.artifacts ((created_at at time zone 'UTC'), id) where state = 'stored' and kind = 'page';
drop index omicron.artifacts_due;
create index artifacts_due on omicron.artifacts ((due_at at time zone 'UTC'), id) where state = 'stored' and due_at is not null;

-- 0038_fewer_reads.sql
-- Each change of a session's status writes to the indexes of the table: to that of the tags only where a session has some.
drop index omicron.browser_sessions_tags;
create index browser_sessions_tags on omicron.browser_sessions using gin (tags jsonb_path_ops) where tags <> '{}';

-- The next warm runner is the first of its template in the index, however many are warm.
drop index omicron.runners_warm;
create index runners_warm on omicron.runners (provider, template, warm_at) where state = 'warm';

-- `browser_sessions_by_profile` begins with the user, of the same sessions.
drop index omicron.browser_sessions_live_by_user;

-- 0039_due_leases.sql
-- When a lease is looked at for its end. Reports and heartbeats move expires_at and leave this; the reaper moves it on once it has come. A search for
-- leases that are due so reads no other, whatever versions of their rows an open transaction keeps.
alter table omicron.browser_sessions add column due_at timestamptz not null default '-infinity';
create index browser_sessions_due on omicron.browser_sessions (due_at) where status in ('starting', 'ready', 'hibernated');

-- event-stream.sql
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

-- timeline.sql
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

-- profiles.sql
-- Profiles. The lease is the writer's lock: acquire admits one live read-write lease a profile, a redemption makes its
-- runner the writer, and a save is a compare-and-set on the version by the writer alone.

-- The live lease that holds a profile for writing, locked, so that no renewal of it is under way. `p_except`: not this
-- session's. The caller holds the user's lock.
create or replace function omicron.profile_holder(p_user text, p_name text, p_except uuid) returns omicron.browser_sessions
language plpgsql as $$
declare
  s omicron.browser_sessions;
begin
  for s in
    select * from omicron.browser_sessions
     where user_id = p_user and status in ('starting', 'ready') and options -> 'profile' ->> 'name' = p_name
       and options -> 'profile' ->> 'mode' = 'read-write' and id is distinct from p_except
     order by id for update
  loop
    if s.expires_at > clock_timestamp() then
      return s;
    end if;
  end loop;
  return null;
end $$;

create or replace function omicron.profile_in_use(s omicron.browser_sessions) returns jsonb
language sql as $$
  select jsonb_build_object('outcome', 'refused', 'code', 'profile_in_use', 'limit', 1, 'active', 1, 'holder', s.id,
    'retry_after_ms', ceil(extract(epoch from s.expires_at - clock_timestamp()) * 1000))
$$;

-- Whether a lease has another profile than these options name, or has it otherwise; none is one too.
create or replace function omicron.has_other_profile(s omicron.browser_sessions, p_options jsonb) returns boolean
language sql immutable as $$
  select (s.options -> 'profile' ->> 'name', s.options -> 'profile' ->> 'mode')
    is distinct from (p_options -> 'profile' ->> 'name', p_options -> 'profile' ->> 'mode')
$$;

-- Makes a profile where there is none and the user may have another one. Under the user's lock: deleting the last
-- profile deletes the key, and must not do so under one that is being made.
create or replace function omicron.make_profile(p_user text, p_name text) returns void
language plpgsql as $$
begin
  perform pg_advisory_xact_lock(hashtextextended('omicron.user:' || p_user, 0));
  insert into omicron.profiles (user_id, name)
    select p_user, p_name
     where (select count(*) from omicron.profiles where user_id = p_user and session_id is null) < 100 -- PROFILE_LIMITS.profilesMax
    on conflict (user_id, name) do nothing;
end $$;

-- Called by the claim of a lease, under the user's lock. Null: the lease may have this profile; else its refusal.
create or replace function omicron.claim_profile(p_user text, p_session uuid, p_profile jsonb) returns jsonb
language plpgsql as $$
declare
  s omicron.browser_sessions;
begin
  if p_profile ->> 'mode' = 'read-write' then
    s := omicron.profile_holder(p_user, p_profile ->> 'name', p_session);
    if s.id is not null then
      return omicron.profile_in_use(s);
    end if;
    perform omicron.make_profile(p_user, p_profile ->> 'name');
  end if;
  update omicron.profiles set last_used_at = clock_timestamp() where user_id = p_user and name = p_profile ->> 'name';
  if not found then
    return jsonb_build_object('outcome', 'refused', 'limit', 100, 'active', 0, 'retry_after_ms', 0, 'code',
      case when p_profile ->> 'mode' = 'read-write' then 'profile_quota_exceeded' else 'profile_not_found' end);
  end if;
  return null;
end $$;

-- Whether the writer of a profile may still save for the last time: its lease is over and its runner has not said that
-- it is done. Twenty seconds bound it: a runner exits within ten of its end.
create or replace function omicron.profile_closing(p omicron.profiles) returns boolean
language sql as $$
  select exists (select from omicron.runners r
                  where r.id = p.writer and r.state <> 'gone'
                    and coalesce(r.draining_at, r.deadline_at) > clock_timestamp() - interval '20 seconds'
                    and not exists (select from omicron.browser_sessions s
                                     where s.runner_id = r.id and s.epoch = r.epoch and s.status in ('starting', 'ready')
                                       and s.expires_at > clock_timestamp()))
$$;

-- Called by a redemption, which has locked session and runner. False: the lease before may still save; ask again.
create or replace function omicron.open_profile(s omicron.browser_sessions, p_runner uuid) returns boolean
language plpgsql as $$
declare
  p omicron.profiles;
begin
  select * into p from omicron.profiles
   where user_id = s.user_id and name = s.options -> 'profile' ->> 'name' for update;
  if omicron.profile_closing(p) then
    return false;
  end if;
  if s.options -> 'profile' ->> 'mode' = 'read-write' then
    update omicron.profiles set writer = p_runner where id = p.id;
  end if;
  return true;
end $$;

create or replace function omicron.profile_content(p omicron.profiles, p_version integer) returns jsonb
language sql as $$
  select jsonb_build_object('id', p.id, 'user_id', p.user_id, 'name', p.name, 'version', p_version, 'object', v.object,
           'form', v.form, 'digest', v.digest, 'wrapped', k.wrapped)
    from (select) as one
    left join omicron.profile_versions v on v.profile_id = p.id and v.version = p_version
    left join omicron.profile_keys k on k.user_id = p.user_id
$$;

-- The state with which a runner starts. Null: this runner does not hold that lease, or the lease has no profile.
create or replace function omicron.lease_profile(p_session uuid, p_epoch integer, p_runner uuid) returns jsonb
language sql as $$
  select omicron.profile_content(p, p.version)
    from omicron.browser_sessions s
    join omicron.profiles p on p.user_id = s.user_id and p.name = s.options -> 'profile' ->> 'name'
   where s.id = p_session and s.epoch = p_epoch and s.runner_id = p_runner
     and s.status in ('starting', 'ready') and omicron.held_lease(p_session, p_epoch, p_runner)
$$;

-- The profile that this runner may save, live or ending. Null: it may save none.
create or replace function omicron.written_profile(p_session uuid, p_epoch integer, p_runner uuid) returns jsonb
language sql as $$
  select omicron.profile_content(p, p.version)
    from omicron.profiles p join omicron.runners r on r.id = p.writer
   where p.session_id is null and r.id = p_runner and r.session_id = p_session and r.epoch = p_epoch and r.state in ('leased', 'draining')
$$;

-- Before the bytes of objects are written, a version's or chunks. Null: go on with all of them; else why with none. `p_bytes`: of
-- each. `p_runner` null: the platform writes, not a lease.
create or replace function omicron.begin_objects(p_profile uuid, p_base integer, p_runner uuid, p_objects text[], p_bytes bigint[],
  p_quota bigint) returns jsonb language plpgsql as $$
declare
  v_refusal jsonb;
  v_used bigint;
begin
  v_refusal := omicron.save_refusal(p_profile, p_base, p_runner);
  if v_refusal is not null then
    return v_refusal;
  end if;
  select coalesce(sum(o.bytes), 0) into v_used
    from omicron.profiles p
    join omicron.profiles other on other.user_id = p.user_id
    join omicron.profile_objects o on o.profile_id = other.id
   where p.id = p_profile
     -- what a save that came to no end wrote is not counted for long
     and (o.state = 'kept' or (o.state = 'writing' and o.since > clock_timestamp() - interval '1 minute'));
  if v_used + (select sum(bytes) from unnest(p_bytes) as bytes) > p_quota then
    return jsonb_build_object('outcome', 'refused', 'code', 'profile_quota_exceeded', 'active', v_used, 'limit', p_quota);
  end if;
  insert into omicron.profile_objects (name, profile_id, bytes)
    select object, p_profile, bytes from unnest(p_objects, p_bytes) as written (object, bytes);
  return null;
end $$;

-- Why this version may not be written over; null: it may. Locks the profile. A platform may write while no lease does.
create or replace function omicron.save_refusal(p_profile uuid, p_base integer, p_runner uuid) returns jsonb
language plpgsql as $$
declare
  p omicron.profiles;
  s omicron.browser_sessions;
begin
  if p_runner is null then
    select * into p from omicron.profiles where id = p_profile;
    if found then
      perform pg_advisory_xact_lock(hashtextextended('omicron.user:' || p.user_id, 0));
      s := omicron.profile_holder(p.user_id, p.name, null);
      if s.id is not null then
        return omicron.profile_in_use(s);
      end if;
    end if;
  end if;
  select * into p from omicron.profiles where id = p_profile for update;
  if not found then
    return jsonb_build_object('outcome', 'refused', 'code', 'profile_not_found');
  end if;
  if p_runner is null and omicron.profile_closing(p) then
    return jsonb_build_object('outcome', 'refused', 'code', 'profile_in_use', 'retry_after_ms', 1000);
  end if;
  if p_runner is not null and (p.writer is distinct from p_runner
     or not exists (select from omicron.runners where id = p_runner and state in ('leased', 'draining'))) then
    return jsonb_build_object('outcome', 'refused', 'code', 'lease_superseded');
  end if;
  if p.version <> p_base then
    return jsonb_build_object('outcome', 'refused', 'code', 'profile_changed', 'version', p.version);
  end if;
  return null;
end $$;

-- After the bytes were written and read back: moves the head. Null: saved; else why not, and what was written goes. `p_chunks`: what
-- the version names beside its object, written for it or kept by the version before.
create or replace function omicron.commit_save(p_profile uuid, p_base integer, p_runner uuid, p_object text, p_form text,
  p_digest text, p_bytes bigint, p_chunks text[], p_domains jsonb, p_versions integer) returns jsonb
language plpgsql as $$
declare
  v_refusal jsonb;
  v_names text[] := p_chunks || p_object;
  v_there integer;
  r omicron.runners;
begin
  v_refusal := omicron.save_refusal(p_profile, p_base, p_runner);
  if v_refusal is not null then
    update omicron.profile_objects set state = 'removing' where name = any (v_names) and profile_id = p_profile and state = 'writing';
    return v_refusal;
  end if;
  perform from omicron.profile_objects where name = any (v_names) order by name for update;
  select count(*) into v_there from omicron.profile_objects
   where name = any (v_names) and profile_id = p_profile and state in ('writing', 'kept');
  if v_there < cardinality(v_names) then -- the sweep removed one meanwhile
    return jsonb_build_object('outcome', 'refused', 'code', 'profile_unavailable');
  end if;
  update omicron.profile_objects set state = 'kept', since = clock_timestamp() where name = any (v_names) and state = 'writing';
  select * into r from omicron.runners where id = p_runner;
  insert into omicron.profile_versions (profile_id, version, object, form, digest, bytes, domains, session_id, epoch)
    values (p_profile, p_base + 1, p_object, p_form, p_digest,
      p_bytes + (select coalesce(sum(bytes), 0) from omicron.profile_objects where name = any (p_chunks)),
      p_domains, r.session_id, r.epoch);
  insert into omicron.profile_version_chunks (profile_id, version, object) select p_profile, p_base + 1, unnest(p_chunks);
  update omicron.profiles set version = p_base + 1 where id = p_profile;
  perform omicron.drop_versions(p_profile, p_base + 1 - p_versions);
  if r.id is not null then
    perform omicron.write_event(r.session_id, r.epoch, 'profile.saved',
      jsonb_build_object('name', p.name, 'version', p_base + 1, 'bytes', p_bytes))
      from omicron.profiles p where p.id = p_profile and p.session_id is null;
  end if;
  return null;
end $$;

-- The versions up to this one are removed; by the sweep their objects, and the chunks that no other version names.
create or replace function omicron.drop_versions(p_profile uuid, p_last integer) returns void
language plpgsql as $$
declare
  v_names text[];
begin
  select array_agg(object) into v_names from (
    select object from omicron.profile_versions where profile_id = p_profile and version <= p_last
    union select object from omicron.profile_version_chunks where profile_id = p_profile and version <= p_last) as named;
  delete from omicron.profile_versions where profile_id = p_profile and version <= p_last;
  update omicron.profile_objects o set state = 'removing', since = clock_timestamp()
   where o.name = any (v_names) and not exists (select from omicron.profile_version_chunks c where c.object = o.name);
end $$;

-- The profile that this runner holds, where its current version names all of these chunks; else null.
create or replace function omicron.lease_chunks(p_session uuid, p_epoch integer, p_runner uuid, p_objects text[]) returns jsonb
language sql as $$
  select content from (select omicron.lease_profile(p_session, p_epoch, p_runner)) as lease (content)
   where p_objects <@ array(select object from omicron.profile_version_chunks
                             where profile_id = (content ->> 'id')::uuid and version = (content ->> 'version')::integer)
$$;

-- The runner has saved for the last time, or cannot.
create or replace function omicron.release_profile(p_session uuid, p_epoch integer, p_runner uuid) returns void
language sql as $$
  update omicron.profiles p set writer = null from omicron.runners r
   where p.writer = r.id and r.id = p_runner and r.session_id = p_session and r.epoch = p_epoch
$$;

-- With the last profile of a user goes the key, and with it all that a backup of the store may still hold. A user who is asking for a
-- browser right now is left to the next round.
create or replace function omicron.drop_unused_key(p_user text) returns void
language plpgsql as $$
begin
  if pg_try_advisory_xact_lock(hashtextextended('omicron.user:' || p_user, 0)) then
    delete from omicron.profile_keys where user_id = p_user
      and not exists (select from omicron.profiles where user_id = p_user);
  end if;
end $$;

-- {outcome: deleted | not_found} or the refusal.
create or replace function omicron.delete_profile(p_user text, p_name text) returns jsonb
language plpgsql as $$
declare
  p omicron.profiles;
  v_refusal jsonb;
begin
  select * into p from omicron.profiles where user_id = p_user and name = p_name;
  if not found then
    return jsonb_build_object('outcome', 'not_found');
  end if;
  v_refusal := omicron.save_refusal(p.id, p.version, null);
  if v_refusal is not null then
    return v_refusal;
  end if;
  perform omicron.drop_versions(p.id, p.version);
  delete from omicron.profiles where id = p.id;
  perform omicron.drop_unused_key(p_user);
  return jsonb_build_object('outcome', 'deleted');
end $$;

-- Objects to remove from the store: those of dropped versions, and those of saves that came to no end. From here on no
-- commit can keep them.
create or replace function omicron.loose_objects(p_most integer, p_stale_seconds integer) returns setof text
language sql as $$
  update omicron.profile_objects set state = 'removing'
   where name in (select name from omicron.profile_objects
                   where state = 'removing'
                      or (state = 'writing' and since < (select clock_timestamp()) - make_interval(secs => p_stale_seconds))
                   order by since limit p_most for update skip locked)
  returning name
$$;

-- artifacts.sql
-- The time from which a file is removed whose session has ended: now, or never where the lease keeps all files or this name.
create or replace function omicron.file_due_at(p_options jsonb, p_name text) returns timestamptz
language plpgsql as $$
declare
  v_keep jsonb := p_options -> 'keep_files';
begin
  return case when v_keep = '"all"' or jsonb_typeof(v_keep) = 'array' and v_keep ? regexp_replace(p_name, '^.*/', '') then 'infinity'
    else clock_timestamp() end;
end $$;

-- Outcome of a video, a file or a kept page: names of the latter two have a folder. A late report never makes a stored one lost; a
-- lost one may turn out stored. False: this runner never held that lease.
create or replace function omicron.write_artifact(p_session uuid, p_epoch integer, p_runner uuid, p_name text, p_state text, p_uri text,
  p_bytes bigint, p_reason text) returns boolean
language plpgsql as $$
begin
  if not omicron.held_lease(p_session, p_epoch, p_runner) then
    return false;
  end if;
  insert into omicron.artifacts (session_id, epoch, runner_id, name, kind, state, uri, bytes, reason)
    values (p_session, p_epoch, p_runner, p_name,
      case when p_name like 'pages/%' then 'page' when p_name like '%/%' then 'file' else 'video' end, p_state, p_uri, p_bytes, p_reason)
  on conflict (runner_id, name) do update
    set state = excluded.state, uri = excluded.uri, bytes = excluded.bytes, reason = excluded.reason
    where omicron.artifacts.state = 'lost' and excluded.state = 'stored';
  if found then
    -- An upload may end after the session.
    update omicron.artifacts a set due_at = omicron.file_due_at(s.options, a.name)
      from omicron.browser_sessions s
     where a.runner_id = p_runner and a.name = p_name and a.kind = 'file' and a.state = 'stored' and a.due_at is null and s.id = p_session
       and exists (select from omicron.session_events e
                    where e.session_id = p_session and e.epoch = p_epoch and e.kind in ('session.ended', 'session.error'));
    perform omicron.write_event(p_session, p_epoch, 'artifact.' || p_state,
      jsonb_strip_nulls(jsonb_build_object('name', p_name, 'uri', p_uri, 'bytes', p_bytes, 'reason', p_reason)));
  end if;
  return true;
end $$;

-- snapshot.sql
-- The snapshot of a hibernated session: read by the start that restores it, and gone with its restore or its end.

-- The snapshot that the runner of a start restores. Null: it restores nothing, or does not hold that start.
create or replace function omicron.lease_snapshot(p_session uuid, p_epoch integer, p_runner uuid) returns jsonb
language sql as $$
  select omicron.profile_content(p, p.version)
    from omicron.browser_sessions s
    join omicron.profiles p on p.session_id = s.id
   where s.id = p_session and s.epoch = p_epoch and s.runner_id = p_runner and s.status = 'starting'
     and s.hibernated_until is not null and omicron.held_lease(p_session, p_epoch, p_runner)
$$;

-- The session has no snapshot any more; the sweep removes its object. The caller has locked the session.
create or replace function omicron.drop_snapshot(p_session uuid) returns void
language plpgsql as $$
declare
  p omicron.profiles;
begin
  delete from omicron.profiles where session_id = p_session returning * into p; -- its versions go too
  if found then
    update omicron.profile_objects set state = 'removing', since = clock_timestamp() where profile_id = p.id and state = 'kept';
  end if;
  update omicron.browser_sessions set hibernated_until = null where id = p_session and hibernated_until is not null;
end $$;

-- A hibernated session keeps its profile and its credentials, as a live lease does: what of a claim's options applies then.
create or replace function omicron.restored_options(s omicron.browser_sessions, p_options jsonb) returns jsonb
language sql as $$
  select (p_options - array['profile', 'credentials'])
         || (select coalesce(jsonb_object_agg(key, value), '{}') from jsonb_each(s.options) where key in ('profile', 'credentials'))
$$;

-- close-lease.sql
-- Makes a runner `draining`; changes nothing when it is already draining or gone. A launch under way keeps its
-- `work_until`: a runner must not be removed while the call that creates it may still take effect. `p_work_until`: the caller leads
-- the drain itself, as one that took the row (take_work).
create or replace function omicron.drain_runner(p_runner uuid, p_reason text, p_work_until timestamptz default '-infinity') returns void
language sql as $$
  update omicron.runners
     set state = 'draining', draining_at = clock_timestamp(), reason = p_reason,
         work_until = case when state = 'creating' then work_until else p_work_until end
   where id = p_runner and state not in ('draining', 'gone')
$$;

-- Ends the lease whose session the caller has locked. `p_status`: ended or error. A start that fails to restore a hibernated session
-- leaves it hibernated, unless its user ends it.
create or replace function omicron.close_lease(s omicron.browser_sessions, p_status text, p_reason text, p_error text,
  p_work_until timestamptz default '-infinity') returns void
language plpgsql as $$
begin
  if s.status = 'starting' and s.hibernated_until > clock_timestamp() and p_reason not in ('released', 'archived') then
    update omicron.browser_sessions
       set status = 'hibernated', error = p_error, expires_at = hibernated_until, ends_at = hibernated_until,
           claim_id = null, claim_until = null, starting_since = null
     where id = s.id;
    perform omicron.drain_runner(s.runner_id, p_reason);
    perform omicron.write_event(s.id, s.epoch, 'session.restore_failed',
      jsonb_strip_nulls(jsonb_build_object('reason', p_reason, 'error', p_error)));
    return;
  end if;
  update omicron.browser_sessions
     set status = p_status, ended_reason = p_reason, error = p_error,
         claim_id = null, claim_until = null, starting_since = null, mcp_url = null, pod_name = null, service_name = null
   where id = s.id;
  update omicron.artifacts set due_at = omicron.file_due_at(s.options, name)
   where session_id = s.id and kind = 'file' and state = 'stored' and due_at is null;
  perform omicron.drop_snapshot(s.id);
  perform omicron.drain_runner(s.runner_id, p_reason, p_work_until);
  perform omicron.write_event(s.id, s.epoch, 'session.' || p_status,
    jsonb_strip_nulls(jsonb_build_object('reason', p_reason, 'error', p_error)));
end $$;

-- Ends the lease whose session the caller has locked, because its time is over.
create or replace function omicron.expire_lease(s omicron.browser_sessions) returns void
language plpgsql as $$
begin
  perform omicron.close_lease(s, 'ended',
    case when s.status <> 'hibernated' and s.expires_at >= s.ends_at then 'max_age' else 'expired' end, null);
end $$;

-- claim.sql
-- Whether a start may go on: for `p_start_seconds` from its claim, or from the launch of its runner. A start whose runner is still in the
-- queue to be launched may go on, too.
create or replace function omicron.may_start(s omicron.browser_sessions, p_start_seconds integer) returns boolean
language sql as $$
  select s.starting_since > clock_timestamp() - make_interval(secs => p_start_seconds)
      or exists (select from omicron.runners r
                  where r.id = s.runner_id and r.epoch = s.epoch and r.state in ('creating', 'claimed', 'leased')
                    and coalesce(r.launched_at > clock_timestamp() - make_interval(secs => p_start_seconds), r.state = 'creating'))
$$;

-- A live claimer keeps its claim. False: the claim was taken over, or is too old to be kept.
create or replace function omicron.beat_claim(p_session uuid, p_epoch integer, p_claim uuid, p_claim_seconds integer, p_start_seconds integer)
returns boolean language plpgsql as $$
begin
  perform from omicron.browser_sessions where id = p_session for update;
  return (select kept from omicron.beat_claims(array[p_session], array[p_epoch], array[p_claim], p_claim_seconds, p_start_seconds));
end $$;

-- The same for many claims in one statement. A row that another one holds is passed over, and its claim is not among the answers.
create or replace function omicron.beat_claims(p_sessions uuid[], p_epochs integer[], p_claims uuid[], p_claim_seconds integer,
    p_start_seconds integer) returns table (claim uuid, kept boolean)
language sql as $$
  with given as (select * from unnest(p_sessions, p_epochs, p_claims) as g (session, epoch, claim)),
  held as (
    select s.id, g.claim from given g
      join omicron.browser_sessions s on s.id = g.session and s.epoch = g.epoch and s.claim_id = g.claim
     where s.status = 'starting' and s.expires_at > clock_timestamp() and omicron.may_start(s, p_start_seconds)
       for update of s skip locked),
  beaten as (
    update omicron.browser_sessions s
       set claim_until = clock_timestamp() + make_interval(secs => p_claim_seconds),
           expires_at = least(greatest(s.expires_at, clock_timestamp() + make_interval(secs => p_claim_seconds)), s.ends_at)
      from held where s.id = held.id returning held.claim)
  select beaten.claim, true from beaten
  union all
  select g.claim, false from given g
   where not exists (
     select from omicron.browser_sessions s
      where s.id = g.session and s.epoch = g.epoch and s.claim_id = g.claim and s.status = 'starting'
        and s.expires_at > clock_timestamp() and omicron.may_start(s, p_start_seconds))
$$;

-- Called before an assignment is sent to a runner that came up after the claim; repeating it answers the same. Null:
-- it must not be sent.
create or replace function omicron.begin_assignment(p_session uuid, p_epoch integer, p_claim uuid) returns jsonb
language plpgsql as $$
declare
  s omicron.browser_sessions;
  r omicron.runners;
begin
  select * into s from omicron.browser_sessions where id = p_session for update;
  if s.status is distinct from 'starting' or s.epoch <> p_epoch or s.claim_id <> p_claim then
    return null;
  end if;
  update omicron.runners set assigned_at = coalesce(assigned_at, clock_timestamp())
   where id = s.runner_id and epoch = p_epoch and state = 'claimed' returning * into r;
  return case when found then to_jsonb(r) end;
end $$;

-- The claimer gives up: its start failed for a reason that a new runner would not change. False: the claim was over.
create or replace function omicron.fail_claim(p_session uuid, p_epoch integer, p_claim uuid, p_reason text, p_error text) returns boolean
language plpgsql as $$
declare
  s omicron.browser_sessions;
begin
  select * into s from omicron.browser_sessions where id = p_session for update;
  if s.status is distinct from 'starting' or s.epoch <> p_epoch or s.claim_id is distinct from p_claim then
    return false;
  end if;
  perform omicron.close_lease(s, 'error', p_reason, p_error);
  return true;
end $$;

-- line.sql
-- The line of callers where every place is taken. A caller that waits may take a place when more are free than callers wait
-- before it. A caller that was refused and is not back yet holds no place, but those that are new come after it.

-- Places that a caller could take now, at most `p_most`: warm runners, those that the pool is making, and free permits.
create or replace function omicron.free_places(p_provider text, p_template text, p_most bigint) returns bigint
language sql as $$
  select count(*) from (
    select 1 from omicron.runners where state = 'warm' and provider = p_provider
    union all
    select 1 from omicron.runners
     where state = 'creating' and session_id is null and provider = p_provider and template = p_template
    union all
    select 1 from omicron.permits where runner_id is null
    limit p_most) free
$$;

-- Milliseconds until a place comes free for a caller with this many before it. By the places that came free in the last minute; and by the leases
-- that hold the others: each is expected to last as long as those that ended in the last minute, else as those before them, or as it has lasted
-- already. On a fleet on which none has ended yet, three times as long as it has lasted: a caller that is early comes in vain. All are read from at
-- most 100 leases.
create or replace function omicron.line_wait_ms(p_turn bigint) returns integer
language plpgsql as $$
declare
  v_now timestamptz := clock_timestamp();
  v_lasted double precision;
  v_rate double precision; -- places a millisecond
  v_ms double precision;
begin
  select coalesce(avg(lasted) filter (where gone_at > v_now - interval '1 minute'), avg(lasted)) into v_lasted from (
    select gone_at, extract(epoch from gone_at - assigned_at) * 1000 as lasted from omicron.runners
     where state = 'gone' order by gone_at desc limit 100) ended;
  select greatest(
    (select count(*) / 60000.0 from omicron.runners where state = 'gone' and gone_at > v_now - interval '1 minute'),
    (select count(*) from omicron.permits where runner_id is not null) * (
      select avg(1 / greatest(1, age, coalesce(v_lasted, 3 * age))) from (
        select extract(epoch from v_now - starting_since) * 1000 as age from omicron.browser_sessions where status = 'ready' limit 100) live))
    into v_rate;
  if v_rate > 0 then
    v_ms := (p_turn + 1) / v_rate;
  elsif exists (select from omicron.runners where state = 'draining') then -- a permit is about to be freed
    v_ms := 1000;
  else
    select extract(epoch from min(expires_at) - v_now) * 1000 into v_ms from omicron.browser_sessions
     where status in ('starting', 'ready') and expires_at > v_now;
  end if;
  return ceil(least(86400000, greatest(0, coalesce(v_ms, 1000))));
end $$;

-- Retry-After in milliseconds, of 1 to 30 s, for this expected wait: a caller that comes late finds its place, one that is early is refused. It is
-- rounded up to whole seconds.
create or replace function omicron.line_retry_ms(p_wait_ms integer) returns integer
language sql as $$ select greatest(1000, least(30000, 600 + p_wait_ms)) $$;

-- Null: the caller may take a place. Else the refusal, and its place in the line: held by a replica (`p_waits`), or kept for its return.
-- `turn`: callers that come first; `ahead`: those of them that are waiting now; `returns`: it had that place already.
-- `p_found_none`: others took the places meanwhile.
create or replace function omicron.join_line(p_user text, p_conversation text, p_provider text, p_template text, p_waits boolean,
  p_user_limit integer, p_found_none boolean) returns jsonb
language plpgsql as $$
declare
  w omicron.waiting_callers;
  v_now timestamptz;
  v_turn bigint;
  v_ahead bigint;
  v_waiting integer;
  v_wait_ms integer;
  v_retry_ms integer;
  v_returns boolean;
begin
  if not p_found_none and not exists (select from omicron.waiting_callers where provider = p_provider) then
    return null;
  end if;
  perform pg_advisory_xact_lock(hashtextextended('omicron.line:' || p_provider, 0));
  v_now := clock_timestamp();
  delete from omicron.waiting_callers where provider = p_provider and waits_until < v_now and kept_until < v_now;
  select * into w from omicron.waiting_callers where user_id = p_user and conversation_id = p_conversation and provider = p_provider;
  select count(*) into v_turn from omicron.waiting_callers
   where provider = p_provider and (w.place is null or place < w.place and waits_until > v_now);
  if not p_found_none and omicron.free_places(p_provider, p_template, v_turn + 1) > v_turn then
    return null;
  end if;
  if w.place is null then
    select count(*) into v_waiting from omicron.waiting_callers where user_id = p_user and conversation_id <> p_conversation;
    if v_waiting >= p_user_limit then
      return jsonb_build_object('outcome', 'refused', 'code', 'user_quota_exceeded', 'limit', p_user_limit, 'active', v_waiting,
        'retry_after_ms', omicron.line_retry_ms(omicron.line_wait_ms(v_turn)));
    end if;
  end if;
  select count(*), count(*) filter (where waits_until > v_now) into v_turn, v_ahead from omicron.waiting_callers
   where provider = p_provider and (w.place is null or place < w.place);
  v_wait_ms := omicron.line_wait_ms(v_turn);
  v_retry_ms := omicron.line_retry_ms(v_wait_ms);
  v_returns := w.place is not null;
  insert into omicron.waiting_callers as own (provider, user_id, conversation_id, waits_until, kept_until)
    values (p_provider, p_user, p_conversation, case when p_waits then v_now + interval '5 seconds' else '-infinity' end,
      v_now + make_interval(secs => v_retry_ms / 1000.0 + 5))
  on conflict (user_id, conversation_id) do update
    set waits_until = greatest(own.waits_until, excluded.waits_until), kept_until = greatest(own.kept_until, excluded.kept_until),
        provider = excluded.provider
  returning * into w;
  return jsonb_build_object('outcome', 'refused', 'code', 'capacity_exceeded', 'place', w.place, 'returns', v_returns, 'turn', v_turn, 'ahead', v_ahead,
    'limit', (select count(*) from omicron.permits), 'active', (select count(*) from omicron.permits where runner_id is not null),
    'retry_after_ms', v_retry_ms, 'wait_ms', v_wait_ms);
end $$;

-- The places, among those that a replica holds, for which it is time to ask again, and those that have left the line. Keeps the others in it.
create or replace function omicron.line_turns(p_provider text, p_template text, p_places bigint[]) returns setof bigint
language plpgsql as $$
declare
  v_now timestamptz := clock_timestamp();
  v_free bigint;
begin
  update omicron.waiting_callers set waits_until = v_now + interval '5 seconds'
   where place = any (p_places) and waits_until < v_now + interval '3 seconds' and waits_until > v_now;
  v_free := omicron.free_places(p_provider, p_template, cardinality(p_places) + (
    select count(*) from omicron.waiting_callers where provider = p_provider and waits_until > v_now));
  return query
    select held.place from unnest(p_places) held (place)
     where held.place not in (
       select inline.place from (
         select w.place, row_number() over (order by w.place) as turn from omicron.waiting_callers w
          where w.provider = p_provider and w.waits_until > v_now) inline
        where inline.turn > v_free);
end $$;

-- A replica holds this call no longer. `p_returns`: the place is kept for as long as the caller was asked to stay away: {turn, retry_after_ms, wait_ms}.
create or replace function omicron.leave_line(p_place bigint, p_returns boolean) returns jsonb
language plpgsql as $$
declare
  v_turn bigint;
  v_wait_ms integer;
  v_retry_ms integer;
begin
  if not p_returns then
    delete from omicron.waiting_callers where place = p_place;
    return null;
  end if;
  select count(*) into v_turn from omicron.waiting_callers w
   where w.provider = (select provider from omicron.waiting_callers where place = p_place) and w.place < p_place
     and greatest(w.waits_until, w.kept_until) > clock_timestamp();
  v_wait_ms := omicron.line_wait_ms(v_turn);
  v_retry_ms := omicron.line_retry_ms(v_wait_ms);
  update omicron.waiting_callers
     set waits_until = '-infinity', kept_until = clock_timestamp() + make_interval(secs => v_retry_ms / 1000.0 + 5)
   where place = p_place;
  return jsonb_build_object('turn', v_turn, 'retry_after_ms', v_retry_ms, 'wait_ms', v_wait_ms);
end $$;

-- may-act.sql
-- Whether a runner of one of the session's epochs up to this one may still act: until it is gone, has acknowledged its
-- drain, or has passed its deadline.
create or replace function omicron.may_act(p_session uuid, p_epoch integer) returns boolean
language sql as $$
  select exists (select from omicron.runners
                  where session_id = p_session and epoch <= p_epoch and redeemed_at is not null and state <> 'gone'
                    and acknowledged_at is null and deadline_at > clock_timestamp())
$$;

-- end-lease.sql
-- Ends a lease (O3); idempotent. Null epoch: the current one. An older epoch has ended already: nothing changes.
-- {outcome: ended | already_ended | superseded | not_found, session, served, runner}. `served`: a runner may still act in that epoch or an
-- earlier one. `p_work_seconds`: the caller drains the runner itself, and holds its row for as long (take_work); null: the drain loop does.
-- `runner`: the row, where the caller holds it.
create or replace function omicron.end_lease(p_session uuid, p_user text, p_epoch integer, p_reason text,
  p_work_seconds double precision default null) returns jsonb
language plpgsql as $$
declare
  s omicron.browser_sessions;
  v_until timestamptz := '-infinity';
begin
  select * into s from omicron.browser_sessions where id = p_session and user_id = coalesce(p_user, user_id) for update;
  if s.id is null then
    return jsonb_build_object('outcome', 'not_found');
  end if;
  if p_epoch is not null and p_epoch <> s.epoch then
    return jsonb_build_object('outcome', case when p_epoch < s.epoch then 'already_ended' else 'superseded' end,
      'session', to_jsonb(s), 'served', omicron.may_act(s.id, p_epoch));
  end if;
  if s.status not in ('starting', 'ready', 'hibernated') then
    return jsonb_build_object('outcome', 'already_ended', 'session', to_jsonb(s), 'served', omicron.may_act(s.id, s.epoch));
  end if;
  if p_work_seconds is not null then
    v_until := clock_timestamp() + make_interval(secs => p_work_seconds);
  end if;
  perform omicron.close_lease(s, 'ended', p_reason, null, v_until);
  select * into s from omicron.browser_sessions where id = p_session;
  return jsonb_build_object('outcome', 'ended', 'session', to_jsonb(s), 'served', omicron.may_act(s.id, s.epoch),
    'runner', (select to_jsonb(r) from omicron.runners r
                where r.id = s.runner_id and r.state = 'draining' and r.work_until = v_until and p_work_seconds is not null));
end $$;

-- Ends the live lease, if any, and takes the session off the list (S1). Null: there is no such session.
create or replace function omicron.archive(p_session uuid, p_user text) returns jsonb
language plpgsql as $$
declare
  s omicron.browser_sessions;
begin
  if omicron.end_lease(p_session, p_user, null, 'archived') ->> 'outcome' = 'not_found' then
    return null;
  end if;
  update omicron.browser_sessions set archived_at = coalesce(archived_at, clock_timestamp()) where id = p_session returning * into s;
  return to_jsonb(s);
end $$;

-- The local stack stops: its runners cannot outlive it, so their leases end here, with `shutdown` as the reason.
create or replace function omicron.end_all(p_provider text) returns void
language plpgsql as $$
declare
  v_id uuid;
begin
  for v_id in
    select id from omicron.browser_sessions where provider = p_provider and status in ('starting', 'ready') order by id
  loop
    perform omicron.end_lease(v_id, null, null, 'shutdown');
  end loop;
  update omicron.runners set state = 'draining', draining_at = clock_timestamp(), reason = 'shutdown', work_until = '-infinity'
   where provider = p_provider and state not in ('draining', 'gone');
end $$;

-- prune.sql
-- Retention: rows past their time go in batches, a transaction each, on one replica at a time.

-- False: another replica removes rows now.
create or replace function omicron.may_prune() returns boolean
language sql as $$
  select pg_try_advisory_xact_lock(hashtextextended('omicron.prune', 0))
$$;

-- A conversation's row in epoch_floors.
create or replace function omicron.floor_place(p_user text, p_conversation text) returns integer
language sql immutable as $$
  select ('x' || left(md5(p_user || E'\n' || p_conversation), 3))::bit(12)::integer
$$;

-- The epoch with which a new session of this conversation begins.
create or replace function omicron.first_epoch(p_user text, p_conversation text) returns integer
language sql as $$
  select coalesce((select epoch from omicron.epoch_floors where place = omicron.floor_place(p_user, p_conversation)), 0) + 1
$$;

-- One batch of events, in the order in which they were written. Events of a lease whose runner may report yet stay: a repeated event
-- is written once. Null: another replica removes rows. {more, after, rows}: `after` is where the next batch begins.
create or replace function omicron.prune_events(p_days integer, p_after bigint, p_most integer) returns jsonb
language plpgsql as $$
declare
  v_cutoff timestamptz := clock_timestamp() - make_interval(days => p_days);
  v_answer jsonb;
begin
  if not omicron.may_prune() then
    return null;
  end if;
  with oldest as materialized (
    select id, session_id, epoch, at from omicron.session_events where id > p_after order by id limit p_most
  ), pruned as (
    delete from omicron.session_events e using oldest o
     where e.id = o.id and o.at < v_cutoff
       and not exists (select from omicron.runners r where r.session_id = o.session_id and r.epoch = o.epoch and r.state <> 'gone')
    returning 1
  )
  select jsonb_build_object('more', count(*) = p_most and bool_and(at < v_cutoff), 'after', coalesce(max(id), p_after),
           'rows', jsonb_build_object('session_events', (select count(*) from pruned)))
    into v_answer from oldest;
  return v_answer;
end $$;

-- Artifact rows whose objects are gone.
create or replace function omicron.prune_artifacts(p_runners uuid[]) returns bigint
language sql as $$
  with pruned as (delete from omicron.artifacts where runner_id = any (p_runners) returning 1) select count(*) from pruned
$$;

-- One batch of sessions, those first that were made first: ended ones go with all that belongs to them; of the others their gone runners
-- of earlier epochs, and old user actions. Sessions with a stored artifact, or a runner that is not gone, stay.
-- Null: another replica removes rows. {more, after, rows}: `after` is where the next batch begins.
create or replace function omicron.prune_sessions(p_days integer, p_after jsonb, p_most integer) returns jsonb
language plpgsql as $$
declare
  v_cutoff timestamptz := clock_timestamp() - make_interval(days => p_days);
  v_looked uuid[];
  v_after jsonb;
  v_sessions uuid[];
  v_runners uuid[];
  v_rows jsonb;
  v_artifacts bigint;
  v_gone bigint;
begin
  if not omicron.may_prune() then
    return null;
  end if;
  with oldest as materialized (
    select id, created_at from omicron.browser_sessions
     where created_at < v_cutoff
       and (created_at, id) > (coalesce((p_after ->> 0)::timestamptz, '-infinity'), coalesce((p_after ->> 1)::uuid, '00000000-0000-0000-0000-000000000000'))
     order by created_at, id limit p_most)
  select array_agg(id), (array_agg(jsonb_build_array(created_at, id) order by created_at desc, id desc))[1]
    into v_looked, v_after from oldest;

  v_sessions := array(
    select id from omicron.browser_sessions s
     where id = any (v_looked) and status in ('ended', 'error') and updated_at < v_cutoff
       and not exists (select from omicron.runners r where r.session_id = s.id and r.state <> 'gone')
       and not exists (select from omicron.artifacts a where a.session_id = s.id and a.state = 'stored')
       and not exists (select from omicron.profiles p where p.session_id = s.id)
     order by id for update skip locked);
  v_runners := array(
    select r.id from omicron.runners r join omicron.browser_sessions s on s.id = r.session_id
     where r.session_id = any (v_looked)
       and (r.session_id = any (v_sessions)
         or r.state = 'gone' and r.gone_at < v_cutoff and r.epoch < s.epoch
           and not exists (select from omicron.artifacts a where a.runner_id = r.id and a.state = 'stored')));
  insert into omicron.epoch_floors as f (place, epoch)
    select omicron.floor_place(user_id, conversation_id), max(epoch)
      from omicron.browser_sessions where id = any (v_sessions) group by 1 order by 1
  on conflict (place) do update set epoch = excluded.epoch where f.epoch < excluded.epoch;

  with events as (delete from omicron.session_events where session_id = any (v_sessions) returning 1),
       actions as (
         delete from omicron.user_actions
          where session_id = any (v_looked) and (session_id = any (v_sessions) or expires_at < v_cutoff) returning 1),
       policies as (delete from omicron.policies where layer = 'session' and subject = any (v_sessions::text[]) returning 1)
  select jsonb_build_object('session_events', (select count(*) from events), 'user_actions', (select count(*) from actions),
           'policies', (select count(*) from policies)) into v_rows;
  v_artifacts := omicron.prune_artifacts(v_runners);
  update omicron.profiles set writer = null where writer = any (v_runners);
  delete from omicron.runners where id = any (v_runners);
  get diagnostics v_gone = row_count;
  delete from omicron.browser_sessions where id = any (v_sessions);
  return jsonb_build_object('more', coalesce(cardinality(v_looked), 0) = p_most, 'after', v_after,
    'rows', v_rows || jsonb_build_object('browser_sessions', cardinality(v_sessions), 'runners', v_gone, 'artifacts', v_artifacts));
end $$;

-- One batch of gone runners that never had a lease. As above.
create or replace function omicron.prune_runners(p_days integer, p_most integer) returns jsonb
language plpgsql as $$
declare
  v_gone bigint;
begin
  if not omicron.may_prune() then
    return null;
  end if;
  delete from omicron.runners where id in (
    select id from omicron.runners
     where state = 'gone' and session_id is null and gone_at < clock_timestamp() - make_interval(days => p_days)
     order by gone_at limit p_most for update skip locked);
  get diagnostics v_gone = row_count;
  return jsonb_build_object('more', v_gone = p_most, 'after', null, 'rows', jsonb_build_object('runners', v_gone));
end $$;

-- acquire.sql
-- Renews a live lease, or claims a new epoch with a runner of its own; all or nothing. Like every step of the
-- protocol it locks the session, then the runner, and reads the clock in a statement after the locks: a step that
-- waited judges by the time at which it goes on.
--   {outcome: renewed | claimed | starting | evicts | refused, ...}; `claimed` says whether other leases gave way
-- `p_claim` names this call: a repeated call finds its own claim again. `p_abandon` is a claim of the same caller
-- whose runner failed: it is given up for a new epoch in this step, also if its redemption has made it ready and no caller has the answer. `p_switch_profile`: a live lease with another profile than
-- that of `p_options` is followed by a new epoch, instead of being renewed. `p_unhibernated`: leases that would be evicted are
-- hibernated by the caller first where they ask for it, which then calls again (`evicts`), except these sessions, with which it has failed;
-- null: for none. `p_waits`: where every place is taken the caller stays, in the line (join_line).
create or replace function omicron.acquire(
  p_user text, p_conversation text, p_claim uuid, p_abandon uuid, p_ttl_seconds integer, p_max_session_seconds integer,
  p_options jsonb, p_tags jsonb, p_provider text, p_template text, p_namespace text,
  p_user_limit integer, p_on_user_limit text, p_claim_seconds integer, p_start_seconds integer, p_switch_profile boolean,
  p_unhibernated uuid[] default null, p_waits boolean default false
) returns jsonb
language plpgsql as $$
declare
  s omicron.browser_sessions;
  r omicron.runners;
  v_now timestamptz;
  v_active integer;
  v_free_at timestamptz;
  v_inherit boolean := false;
  v_switches boolean;
  v_restores boolean;
  v_runner uuid;
  v_slot integer;
  v_victims uuid[] := '{}';
  v_victim uuid;
  v_hibernated uuid[];
  v_refusal jsonb;
  v_waiting_since timestamptz;
  v_options jsonb := jsonb_strip_nulls(p_options);
begin
  -- A lease that was used within a second is answered without a write.
  select x.* into s from omicron.browser_sessions x
    join omicron.runners y on y.id = x.runner_id and y.epoch = x.epoch and y.state = 'leased'
   where x.user_id = p_user and x.conversation_id = p_conversation and x.status = 'ready' and x.provider = p_provider
     and (x.claim_id = p_abandon) is not true;
  if found then
    v_now := clock_timestamp();
    if not (p_switch_profile and omicron.has_other_profile(s, p_options)) and s.expires_at > v_now
       and s.ttl_seconds = p_ttl_seconds and (p_tags is null or s.tags = p_tags) and s.last_used_at >= v_now - interval '1 second'
       and s.released_at is null
       and s.expires_at >= least(v_now + make_interval(secs => p_ttl_seconds - 1), s.ends_at) then
      return jsonb_build_object('outcome', 'renewed', 'session', to_jsonb(s));
    end if;
  end if;

  -- Per user, so that a count is exact; always before the first session lock, or two callers could deadlock.
  perform pg_advisory_xact_lock(hashtextextended('omicron.user:' || p_user, 0));
  s := null;
  select * into s from omicron.browser_sessions where user_id = p_user and conversation_id = p_conversation for update;
  if s.runner_id is not null then
    select * into r from omicron.runners where id = s.runner_id for update;
  end if;
  v_now := clock_timestamp();
  v_switches := p_switch_profile and omicron.has_other_profile(s, p_options);

  -- A live lease stays with its provider, and a controller of another one does not see its runner: it neither answers nor ends it (S3).
  if s.status in ('starting', 'ready') and s.expires_at > v_now and s.provider <> p_provider
     and r.state in ('creating', 'claimed', 'leased') then
    return jsonb_build_object('outcome', 'refused', 'code', 'provider_mismatch', 'provider', s.provider, 'limit', 1, 'active', 1,
      'retry_after_ms', ceil(extract(epoch from s.expires_at - v_now) * 1000));
  end if;

  if not v_switches and s.status = 'ready' and (s.claim_id = p_abandon) is not true
     and s.expires_at > v_now and r.state = 'leased' and r.epoch = s.epoch then
    update omicron.browser_sessions
       set expires_at = greatest(expires_at, least(v_now + make_interval(secs => p_ttl_seconds), ends_at)),
           ttl_seconds = p_ttl_seconds, last_used_at = v_now, released_at = null, tags = coalesce(p_tags, tags), archived_at = null
     where id = s.id returning * into s;
    return jsonb_build_object('outcome', 'renewed', 'session', to_jsonb(s));
  end if;

  if s.status = 'starting' and s.claim_id = p_claim then -- the answer to this very call was lost
    return jsonb_build_object('outcome', 'claimed', 'session', to_jsonb(s), 'runner', to_jsonb(r), 'evicted', false);
  end if;
  if s.status = 'starting' and s.claim_id is distinct from p_abandon and s.expires_at > v_now and s.claim_until > v_now
     and omicron.may_start(s, p_start_seconds) and r.state in ('creating', 'claimed', 'leased') then
    delete from omicron.waiting_callers where user_id = p_user and conversation_id = p_conversation;
    return jsonb_build_object('outcome', 'starting', 'session', to_jsonb(s));
  end if;

  v_restores := s.hibernated_until > v_now and not v_switches;
  if v_restores then
    if p_options ? 'profile' and omicron.has_other_profile(s, p_options) then
      return jsonb_build_object('outcome', 'refused', 'code', 'profile_mismatch', 'limit', 1, 'active', 1, 'retry_after_ms', 0,
        'holder', s.id);
    end if;
    v_options := omicron.restored_options(s, v_options);
  end if;
  if v_options ? 'profile' then
    v_refusal := omicron.claim_profile(p_user, s.id, v_options -> 'profile');
    if v_refusal is not null then
      return v_refusal;
    end if;
  end if;

  -- The user's quota counts live leases, not expired ones that the reaper has yet to end.
  select count(*), min(expires_at) into v_active, v_free_at from omicron.browser_sessions
   where user_id = p_user and status in ('starting', 'ready') and expires_at > v_now and id is distinct from s.id;
  -- At the quota released leases give way, those that were released first before others.
  if v_active >= p_user_limit then
    v_victims := array(
      select id from omicron.browser_sessions
       where user_id = p_user and status in ('starting', 'ready') and expires_at > v_now and id is distinct from s.id
         and (released_at is not null or p_on_user_limit = 'evict_oldest')
       order by released_at nulls last, last_used_at limit v_active - p_user_limit + 1);
    if cardinality(v_victims) <= v_active - p_user_limit then
      return jsonb_build_object('outcome', 'refused', 'code', 'user_quota_exceeded', 'limit', p_user_limit,
        'active', v_active, 'retry_after_ms', ceil(extract(epoch from v_free_at - v_now) * 1000));
    end if;
  end if;

  -- A runner that has ignored its drain for 20 s cannot be reached: a new claim could only wait for its deadline.
  select max(deadline_at) into v_free_at from omicron.runners
   where session_id = s.id and redeemed_at is not null and state = 'draining' and acknowledged_at is null
     and deadline_at > v_now and draining_at < v_now - interval '20 seconds';
  if v_free_at is not null then
    return jsonb_build_object('outcome', 'refused', 'code', 'predecessor_draining', 'limit', 1, 'active', 1,
      'retry_after_ms', ceil(extract(epoch from v_free_at - v_now) * 1000));
  end if;

  -- One epoch is one runner. A runner that was sent nothing is inherited by the new epoch; else a new one is taken.
  v_inherit := s.status = 'starting' and r.state in ('creating', 'claimed') and r.assigned_at is null
    and r.provider = p_provider and s.expires_at > v_now
    and s.starting_since > v_now - make_interval(secs => p_start_seconds);
  if v_inherit then
    v_runner := r.id;
  else
    v_refusal := omicron.join_line(p_user, p_conversation, p_provider, p_template, p_waits, p_user_limit, false);
    if v_refusal is not null then
      return v_refusal;
    end if;
    select id into v_runner from omicron.runners
     where state = 'warm' and provider = p_provider and template = p_template
     order by warm_at limit 1 for update skip locked;
    if v_runner is null then -- one of the template before, which the pool keeps until there are new ones
      select id into v_runner from omicron.runners
       where state = 'warm' and provider = p_provider
       order by warm_at limit 1 for update skip locked;
    end if;
    if v_runner is null then -- one that the pool is creating
      select id into v_runner from omicron.runners
       where state = 'creating' and session_id is null and provider = p_provider and template = p_template
       order by created_at limit 1 for update skip locked;
    end if;
    if v_runner is null then
      select slot into v_slot from omicron.permits where runner_id is null order by slot limit 1 for update skip locked;
      if v_slot is null then
        return omicron.join_line(p_user, p_conversation, p_provider, p_template, p_waits, p_user_limit, true);
      end if;
    end if;
  end if;

  -- Nothing is written yet: the caller hibernates those of the leases to evict that ask for it, and then asks again.
  if v_victims <> '{}' then
    v_hibernated := array(
      select id from omicron.browser_sessions
       where id = any (v_victims) and status = 'ready' and provider = p_provider and options ->> 'hibernate' = 'expiry'
         and id <> all (p_unhibernated));
    if v_hibernated <> '{}' then
      return jsonb_build_object('outcome', 'evicts', 'sessions', to_jsonb(v_hibernated));
    end if;
  end if;
  foreach v_victim in array v_victims loop
    perform omicron.end_lease(v_victim, null, null, 'evicted');
  end loop;
  if v_slot is not null then
    insert into omicron.runners (provider, template) values (p_provider, p_template) returning id into v_runner;
    update omicron.permits set runner_id = v_runner where slot = v_slot;
  end if;

  if s.id is null then
    insert into omicron.browser_sessions (user_id, conversation_id, status, k8s_namespace, provider, epoch, runner_id,
        claim_id, claim_until, starting_since, ttl_seconds, expires_at, due_at, ends_at, options, tags, last_used_at)
      values (p_user, p_conversation, 'starting', p_namespace, p_provider, omicron.first_epoch(p_user, p_conversation), v_runner,
        p_claim, v_now + make_interval(secs => p_claim_seconds), v_now, p_ttl_seconds,
        v_now + make_interval(secs => least(greatest(p_ttl_seconds, p_claim_seconds), p_max_session_seconds)),
        v_now + make_interval(secs => least(greatest(p_ttl_seconds, p_claim_seconds), p_max_session_seconds)),
        v_now + make_interval(secs => p_max_session_seconds), v_options, coalesce(p_tags, '{}'), v_now)
      returning * into s;
  else
    if not v_inherit then
      perform omicron.drain_runner(s.runner_id, 'superseded');
    end if;
    update omicron.browser_sessions
       set status = 'starting', epoch = s.epoch + 1, runner_id = v_runner, provider = p_provider, k8s_namespace = p_namespace,
           claim_id = p_claim, claim_until = v_now + make_interval(secs => p_claim_seconds),
           starting_since = case when v_inherit then starting_since else v_now end, -- or inheriting could go on without end
           ttl_seconds = p_ttl_seconds,
           expires_at = v_now + make_interval(secs => least(greatest(p_ttl_seconds, p_claim_seconds), p_max_session_seconds)),
           ends_at = v_now + make_interval(secs => p_max_session_seconds),
           options = v_options, tags = coalesce(p_tags, tags), last_used_at = v_now, released_at = null, yields_until = null, archived_at = null,
           mcp_url = null, pod_name = null, service_name = null, artifacts_s3_prefix = null, ended_reason = null, error = null
     where id = s.id returning * into s;
    if s.hibernated_until is not null and not v_restores then -- kept for too long, or of another profile
      perform omicron.drop_snapshot(s.id);
      s.hibernated_until := null;
    end if;
  end if;
  -- The claimer of a warm runner sends the assignment at once: from here on it may have been sent.
  update omicron.runners
     set session_id = s.id, epoch = s.epoch, recorded = (v_options ->> 'record_video')::boolean,
         state = case when state = 'warm' then 'claimed' else state end,
         assigned_at = case when state = 'warm' then v_now else assigned_at end
   where id = v_runner returning * into r;
  delete from omicron.waiting_callers where user_id = p_user and conversation_id = p_conversation returning since into v_waiting_since;
  perform omicron.write_event(s.id, s.epoch, 'session.claimed', jsonb_strip_nulls(jsonb_build_object('runner_id', r.id,
    'warm', r.assigned_at is not null, 'waited_ms', round(extract(epoch from clock_timestamp() - v_waiting_since) * 1000))));
  return jsonb_build_object('outcome', 'claimed', 'session', to_jsonb(s), 'runner', to_jsonb(r), 'evicted', v_victims <> '{}');
end $$;

-- audit.sql
-- Entries of the audit, and the chain of files that they are moved into.

create or replace function omicron.set_audit(p_active boolean) returns void
language sql as $$
  update omicron.audit_chain set active = p_active where active <> p_active
$$;

create or replace function omicron.write_audit(p_entry jsonb) returns void
language sql as $$
  insert into omicron.audit_entries (tx, entry) select omicron.event_tx(), p_entry from omicron.audit_chain where active
$$;

-- Events of a session that are deeds: an entry stands or falls with its event. `data` is what these kinds have, and nothing more.
create or replace function omicron.audit_event() returns trigger
language plpgsql as $$
begin
  if not exists (select from omicron.audit_chain where active) then
    return null;
  end if;
  perform omicron.write_audit(jsonb_build_object(
    'source', 'session', 'action', new.kind,
    'actor', jsonb_strip_nulls(jsonb_build_object('id', new.data -> 'identity', 'name', new.data -> 'viewer')),
    'target', jsonb_build_object('session_id', new.session_id, 'epoch', new.epoch,
      'user_id', (select user_id from omicron.browser_sessions where id = new.session_id)),
    'data', (select coalesce(jsonb_object_agg(key, value), '{}') from jsonb_each(new.data)
              where key in ('id', 'status', 'from', 'reason', 'why', 'seconds', 'domain', 'names', 'runner_id', 'name', 'version'))));
  return null;
end $$;

create or replace trigger audit_event after insert on omicron.session_events for each row
  when (new.kind in ('session.claimed', 'session.ended', 'control.taken', 'control.given_back', 'user_action.answered', 'secrets.loaded',
                     'login', 'profile.saved'))
  execute function omicron.audit_event();

-- The file that is to be written now: `file`; the one that a replica which was killed had begun comes again, byte for byte.
-- `waits_seconds`: for how long the oldest entry that is in no file has waited.
-- Null: another replica is at it.
create or replace function omicron.audit_take(p_environment text, p_every_seconds double precision, p_most integer, p_hold_seconds double precision)
returns jsonb
language plpgsql as $$
declare
  c omicron.audit_chain;
  v_now timestamptz := clock_timestamp();
  v_lines text;
  v_count integer;
begin
  select * into c from omicron.audit_chain for update skip locked;
  if c.one is null or (c.pending is not null and c.held_until > v_now) then
    return null;
  end if;
  if c.pending is null and c.cut_at + make_interval(secs => p_every_seconds) <= v_now then
    with horizon as materialized (select omicron.event_horizon() as tx),
    moved as (
      delete from omicron.audit_entries
       where id in (select e.id from omicron.audit_entries e where e.tx < (select tx from horizon) order by e.tx, e.id limit p_most)
      returning *)
    select count(*), string_agg((jsonb_build_object('id', id,
             'at', to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) || entry)::text || E'\n', '' order by tx, id)
      into v_count, v_lines from moved;
    if v_count > 0 then
      c.pending := jsonb_build_object('audit', 1, 'environment', p_environment, 'sequence', c.sequence + 1, 'previous', c.sha256,
        'entries', v_count)::text || E'\n' || v_lines;
      c.sequence := c.sequence + 1;
      c.sha256 := encode(sha256(convert_to(c.pending, 'UTF8')), 'hex');
    end if;
    -- what one file does not hold is due at once
    if v_count < p_most then
      c.cut_at := v_now;
    end if;
    update omicron.audit_chain set sequence = c.sequence, sha256 = c.sha256, pending = c.pending, cut_at = c.cut_at;
  end if;
  if c.pending is not null then
    update omicron.audit_chain set held_until = v_now + make_interval(secs => p_hold_seconds);
  end if;
  return jsonb_build_object('waits_seconds', (select coalesce(extract(epoch from v_now - min(at)), 0) from omicron.audit_entries))
    || case when c.pending is null then '{}' else jsonb_build_object('file',
         jsonb_build_object('sequence', c.sequence, 'sha256', c.sha256, 'body', c.pending)) end;
end $$;

-- The file is in the bucket. Repeating it changes nothing.
create or replace function omicron.audit_written(p_sequence bigint) returns void
language sql as $$
  update omicron.audit_chain set pending = null, held_until = clock_timestamp() where sequence = p_sequence and pending is not null
$$;

-- policies.sql
-- Stores or replaces one layer's document under a new version.
create or replace function omicron.put_policy(p_layer text, p_subject text, p_document jsonb) returns void
language sql as $$
  insert into omicron.policies (layer, subject, document) values (p_layer, p_subject, p_document)
  on conflict (layer, subject) do update
    set document = excluded.document, version = nextval('omicron.policy_versions'), updated_at = clock_timestamp()
$$;

-- The version of the layers that apply to one session, each by the version of its document; it changes with any of them. Null: a layer without a document.
create or replace function omicron.policy_version(p_deployment bigint, p_user bigint, p_session bigint, p_presets boolean) returns text
language sql stable as $$
  select coalesce(nullif(concat_ws('.', 'd' || p_deployment, 's' || p_session, case when p_presets then 'sp' end, 'u' || p_user), ''), '0')
$$;

-- {version, layers: [{layer, policy}]} of one session, widest layer first, the presets of its lease last. Every start and every report reads it:
-- PL/pgSQL plans a statement once per connection, SQL at each call.
create or replace function omicron.policy_of(p_session uuid, p_user text) returns jsonb
language plpgsql stable as $$
begin
  return (
    select jsonb_build_object(
      'version', omicron.policy_version(max(version) filter (where layer = 'deployment'), max(version) filter (where layer = 'user'),
                                        max(version) filter (where layer = 'session'), count(*) > count(version)),
      'layers', coalesce(jsonb_agg(jsonb_build_object('layer', layer, 'policy', document)
                                   order by array_position(array['deployment', 'user', 'session'], layer), version), '[]'))
      from (
        select layer, document, version from omicron.policies
         where (layer, subject) in (('deployment', ''), ('user', p_user), ('session', p_session::text))
        union all
        select 'session', options -> 'policy', null from omicron.browser_sessions
         where id = p_session and options ? 'policy') l);
end $$;

-- egress-leases.sql
-- The leases that these runners hold now: redeemed, current, unexpired. One answer a runner, in their order; null: none.
create or replace function omicron.live_leases(p_runners uuid[]) returns setof jsonb
language sql stable as $$
  select case when s.id is not null then
           jsonb_build_object('session_id', s.id, 'epoch', s.epoch, 'runner_id', r.id,
             'remaining_ms', floor(extract(epoch from s.expires_at - clock_timestamp()) * 1000))
           || omicron.policy_of(s.id, s.user_id) end
    from unnest(p_runners) with ordinality asked(id, place)
    left join omicron.runners r on r.id = asked.id and r.state = 'leased'
    left join omicron.browser_sessions s on s.id = r.session_id and s.epoch = r.epoch and s.runner_id = r.id
          and s.status in ('starting', 'ready') and s.expires_at > clock_timestamp()
   order by asked.place
$$;

-- The leases whose videos and files these runners' uploaders may still send: until a day after the lease's end, as its artifact
-- token. One answer a runner, in their order; null: none.
create or replace function omicron.awaited_uploads(p_runners uuid[]) returns setof jsonb
language sql stable as $$
  select case when r.id is not null then
           jsonb_build_object('session_id', r.session_id, 'epoch', r.epoch, 'runner_id', r.id,
             'remaining_ms', floor(extract(epoch from
               coalesce(r.draining_at, clock_timestamp()) + interval '1 day' - clock_timestamp()) * 1000)) end
    from unnest(p_runners) with ordinality asked(id, place)
    left join omicron.runners r on r.id = asked.id and r.redeemed_at is not null and r.state in ('leased', 'draining')
          and coalesce(r.draining_at, clock_timestamp()) + interval '1 day' > clock_timestamp()
   order by asked.place
$$;

-- All runners that hold a lease or whose uploads are awaited, as `live_leases` and `awaited_uploads` answer for one: a proxy watches thousands, and
-- one pass over those that live takes a twentieth of the time. Null: the browser, or the uploader, holds nothing.
create or replace function omicron.held_leases()
returns table (runner_id uuid, session_id uuid, epoch integer, policy_version text, lease_ms float8, upload_ms float8)
language sql stable as $$
  select r.id, r.session_id, r.epoch,
         case when s.id is not null then omicron.policy_version(d.version, u.version, l.version, s.options ? 'policy') end,
         floor(date_part('epoch', s.expires_at - now()) * 1000),
         case when r.redeemed_at is not null then floor(date_part('epoch', coalesce(r.draining_at - now(), '0') + interval '1 day') * 1000) end
    from omicron.runners r
    left join omicron.browser_sessions s on r.state = 'leased' and s.id = r.session_id and s.epoch = r.epoch and s.runner_id = r.id
         and s.status in ('starting', 'ready') and s.expires_at > now()
    left join omicron.policies d on d.layer = 'deployment' and d.subject = ''
    left join omicron.policies u on u.layer = 'user' and u.subject = s.user_id
    left join omicron.policies l on l.layer = 'session' and l.subject = s.id::text
   where r.state in ('leased', 'draining') and r.session_id is not null
$$;

-- erase-user.sql
-- The removal of everything of a user. Each step may be repeated.

-- Writes the intent, or takes over the one that there is, and ends the user's leases: their rows go once their runners are
-- gone. Answers when, as `finish_erasure` takes it.
create or replace function omicron.begin_erasure(p_user text) returns text
language plpgsql as $$
declare
  v_id uuid;
  v_asked_at timestamptz;
begin
  perform pg_advisory_xact_lock(hashtextextended('omicron.user:' || p_user, 0));
  insert into omicron.user_erasures (user_id) values (p_user)
    on conflict (user_id) do update set asked_at = clock_timestamp() returning asked_at into v_asked_at;
  for v_id in
    select id from omicron.browser_sessions where user_id = p_user and status in ('starting', 'ready', 'hibernated') order by id
  loop
    perform omicron.end_lease(v_id, null, null, 'released');
  end loop;
  return v_asked_at::text;
end $$;

-- Forgets the intent, unless another has taken it over since `p_asked_at`: that one answers with what was removed.
create or replace function omicron.finish_erasure(p_user text, p_asked_at text) returns void
language sql as $$
  delete from omicron.user_erasures where user_id = p_user and asked_at = p_asked_at::timestamptz
$$;

-- Adds to what was removed.
create or replace function omicron.count_erased(p_user text, p_removed jsonb) returns void
language sql as $$
  update omicron.user_erasures e
     set removed = (select coalesce(jsonb_object_agg(key, total), '{}') from (
           select key, sum(value::bigint) as total
             from (select * from jsonb_each_text(e.removed) union all select * from jsonb_each_text(p_removed)) counts
            group by key) sums)
   where user_id = p_user
$$;

-- Removes rows of the user: at most p_most sessions, of those whose runners and stored artifacts are gone, and what no runner
-- may still write. Answers how many sessions and profiles are left.
create or replace function omicron.erase_rows(p_user text, p_most integer) returns integer
language plpgsql as $$
declare
  v_sessions uuid[];
  v_removed jsonb;
  p omicron.profiles;
  v_profiles integer := 0;
begin
  perform pg_advisory_xact_lock(hashtextextended('omicron.user:' || p_user, 0));
  v_sessions := array(
    select id from omicron.browser_sessions s
     where user_id = p_user and status in ('ended', 'error')
       and not exists (select from omicron.runners r where r.session_id = s.id and r.state <> 'gone')
       and not exists (select from omicron.artifacts a where a.session_id = s.id and a.state = 'stored')
     order by id limit p_most for update);
  with events as (delete from omicron.session_events where session_id = any (v_sessions) returning 1),
       artifacts as (delete from omicron.artifacts where session_id = any (v_sessions) returning kind, state),
       actions as (delete from omicron.user_actions where session_id = any (v_sessions) returning 1),
       policies as (
         delete from omicron.policies
          where (layer = 'user' and subject = p_user) or (layer = 'session' and subject = any (v_sessions::text[])) returning 1)
  select jsonb_build_object('sessions', cardinality(v_sessions), 'events', (select count(*) from events),
      'videos', count(*) filter (where kind = 'video'), 'files', count(*) filter (where kind = 'file'),
      'pages', count(*) filter (where kind = 'page'), 'user_actions', (select count(*) from actions),
      'policies', (select count(*) from policies))
    into v_removed from artifacts where state <> 'lost';
  update omicron.profiles set writer = null where writer in (select id from omicron.runners where session_id = any (v_sessions));
  delete from omicron.runners where session_id = any (v_sessions);
  delete from omicron.browser_sessions where id = any (v_sessions);
  for p in
    select * from omicron.profiles where user_id = p_user and writer is null and session_id is null for update
  loop
    perform omicron.drop_versions(p.id, p.version);
    delete from omicron.profiles where id = p.id;
    v_profiles := v_profiles + 1;
  end loop;
  perform omicron.drop_unused_key(p_user);
  delete from omicron.webhooks where user_id = p_user;
  perform omicron.count_erased(p_user, v_removed || jsonb_build_object('profiles', v_profiles));
  return (select count(*) from omicron.browser_sessions where user_id = p_user)
    + (select count(*) from omicron.profiles where user_id = p_user);
end $$;

-- expire.sql
-- The reaper's step: ends leases, and hibernated sessions, whose time is over. Candidates are those that are due; each is judged again under its
-- lock. Those that were renewed since they became due are due at their new end, which no step brings forward without this (guard_session). The
-- time is a variable, so that the planner sees that few are due.
create or replace function omicron.expire_leases(p_most integer) returns setof uuid
language plpgsql as $$
declare
  s omicron.browser_sessions;
  v_id uuid;
  v_now timestamptz := clock_timestamp();
begin
  perform omicron.move_due(v_now);
  for v_id in
    select id from omicron.browser_sessions
     where due_at < v_now and expires_at < v_now and status in ('starting', 'ready', 'hibernated') order by expires_at limit p_most
  loop
    select * into s from omicron.browser_sessions where id = v_id for update skip locked;
    continue when s.id is null or s.status not in ('starting', 'ready', 'hibernated') or s.expires_at >= clock_timestamp();
    perform omicron.expire_lease(s);
    return next s.id;
  end loop;
end $$;

create or replace function omicron.move_due(p_now timestamptz) returns void
language plpgsql as $$
begin
  update omicron.browser_sessions set due_at = expires_at
   where id in (select id from omicron.browser_sessions
                 where due_at < p_now and expires_at >= p_now and status in ('starting', 'ready', 'hibernated')
                 order by due_at limit 1000 for update skip locked);
end $$;

-- A start that exceeds its time, from the launch of its runner, becomes an error (O18); the next request takes over.
create or replace function omicron.fail_stuck_starts(p_start_seconds integer, p_most integer) returns setof uuid
language plpgsql as $$
declare
  s omicron.browser_sessions;
  v_id uuid;
begin
  for v_id in
    select id from omicron.browser_sessions waiting
     where status = 'starting' and starting_since < clock_timestamp() - make_interval(secs => p_start_seconds)
       and not omicron.may_start(waiting, p_start_seconds) limit p_most
  loop
    select * into s from omicron.browser_sessions where id = v_id for update skip locked;
    continue when s.status is distinct from 'starting' or omicron.may_start(s, p_start_seconds);
    perform omicron.close_lease(s, 'error', 'start_timed_out',
      format('The browser did not start within %s seconds. Ask again; if this repeats, look at the runner''s log.', p_start_seconds));
    return next s.id;
  end loop;
end $$;

-- guards.sql
-- Moves that no step may make, whatever its code says. Legal moves: the tables of contract/states.ts, which a test compares.

create or replace function omicron.guard_session() returns trigger language plpgsql as $$
begin
  if new.epoch < old.epoch then
    raise exception 'epoch of session % fell from % to %', old.id, old.epoch, new.epoch;
  end if;
  if new.epoch = old.epoch and new.status <> old.status and not (
       (old.status = 'starting' and new.status in ('ready', 'hibernated', 'ended', 'error'))
    or (old.status = 'ready' and new.status in ('hibernated', 'ended', 'error'))
    or (old.status = 'hibernated' and new.status = 'ended')
  ) then
    raise exception 'session % may not go from % to % in epoch %', old.id, old.status, new.status, old.epoch;
  end if;
  if new.epoch > old.epoch and new.status <> 'starting' then
    raise exception 'a new epoch of session % must be starting', old.id;
  end if;
  if (new.status, new.epoch) is distinct from (old.status, old.epoch) or new.expires_at < new.due_at then
    new.due_at := new.expires_at;
  end if;
  new.updated_at := clock_timestamp();
  return new;
end $$;

create or replace trigger guard_session before update on omicron.browser_sessions
  for each row execute function omicron.guard_session();

create or replace function omicron.guard_runner() returns trigger language plpgsql as $$
begin
  if new.state <> old.state and not (
       (old.state = 'creating' and new.state in ('warm', 'claimed', 'draining'))
    or (old.state = 'warm' and new.state in ('claimed', 'draining'))
    or (old.state = 'claimed' and new.state in ('leased', 'draining'))
    or (old.state = 'leased' and new.state = 'draining')
    or (old.state = 'draining' and new.state = 'gone')
  ) then
    raise exception 'runner % may not go from % to %', old.id, old.state, new.state;
  end if;
  if old.assigned_at is not null and (new.session_id, new.epoch) is distinct from (old.session_id, old.epoch) then
    raise exception 'runner % was sent to session % epoch %, it may serve no other', old.id, old.session_id, old.epoch;
  end if;
  return new;
end $$;

-- After the update: before it, a trigger locks each row, and the lock is written to the WAL.
create or replace trigger guard_runner after update on omicron.runners
  for each row when (new.state <> old.state or (new.session_id, new.epoch) is distinct from (old.session_id, old.epoch))
  execute function omicron.guard_runner();

-- hibernate.sql
-- Hibernation: the runner of a lease brings what its browser holds, a snapshot, and is given back; the session stays. The snapshot
-- is a version of a private profile, so that objects, keys and quotas are those of profiles.

-- Whether a lease is about to expire for want of use: in the last tenth of its time to live, of at least 2 and at most 30 s. One at
-- its maximum age ends.
create or replace function omicron.expires_soon(s omicron.browser_sessions) returns boolean
language sql stable as $$
  select s.expires_at < s.ends_at
     and s.expires_at < clock_timestamp() + make_interval(secs => least(30, greatest(2, s.ttl_seconds / 10.0)))
$$;

-- Chooses ready leases that are hibernated instead of expiring, and for how long nothing has used them: {id, idle_seconds}. No replica chooses one
-- again for 20 s, the time that its runner has, nor before it would have expired, if that is earlier: with a use it is chosen before its next expiry.
create or replace function omicron.expiring_leases(p_provider text, p_most integer) returns setof jsonb
language sql as $$
  with chosen as (
    select id from omicron.browser_sessions s
     where status = 'ready' and options ->> 'hibernate' = 'expiry' and provider = p_provider
       and due_at < (select clock_timestamp()) + interval '30 seconds' -- by its index; those that are due later expire later
       and expires_at > (select clock_timestamp()) and expires_at < (select clock_timestamp()) + interval '30 seconds'
       and coalesce(yields_until <= (select clock_timestamp()), true)
       and omicron.expires_soon(s)
     order by expires_at limit p_most for update skip locked)
  update omicron.browser_sessions s set yields_until = least(expires_at, clock_timestamp() + interval '20 seconds')
    from chosen where s.id = chosen.id
  returning jsonb_build_object('id', s.id, 'idle_seconds', floor(extract(epoch from clock_timestamp() - s.last_used_at)))
$$;

-- Why this runner may not hibernate its lease; null: it may. The caller has locked session and runner.
create or replace function omicron.hibernation_refusal(s omicron.browser_sessions, r omicron.runners, p_epoch integer, p_idle_seconds integer)
returns jsonb language plpgsql as $$
declare
  v_now timestamptz := clock_timestamp();
begin
  if s.status is distinct from 'ready' or s.epoch <> p_epoch or s.runner_id is distinct from r.id or r.state <> 'leased'
     or s.expires_at <= v_now then
    return jsonb_build_object('outcome', 'refused', 'code', 'lease_superseded');
  end if;
  if s.last_used_at > v_now - make_interval(secs => p_idle_seconds) then
    return jsonb_build_object('outcome', 'refused', 'code', 'lease_in_use');
  end if;
  return null;
end $$;

-- Before the snapshot is written: its private profile, which this runner alone may write; or the refusal.
create or replace function omicron.begin_hibernation(p_session uuid, p_epoch integer, p_runner uuid, p_idle_seconds integer) returns jsonb
language plpgsql as $$
declare
  s omicron.browser_sessions;
  r omicron.runners;
  p omicron.profiles;
  v_refusal jsonb;
begin
  -- as for any profile that is made: the key must not go under it
  perform pg_advisory_xact_lock(hashtextextended('omicron.user:' || user_id, 0)) from omicron.browser_sessions where id = p_session;
  select * into s from omicron.browser_sessions where id = p_session for update;
  select * into r from omicron.runners where id = p_runner for update;
  v_refusal := omicron.hibernation_refusal(s, r, p_epoch, p_idle_seconds);
  if v_refusal is not null then
    return v_refusal;
  end if;
  insert into omicron.profiles as own (user_id, name, session_id, writer) values (s.user_id, '.' || s.id, s.id, r.id)
  on conflict (session_id) do update set writer = excluded.writer
  returning * into p;
  return omicron.profile_content(p, p.version);
end $$;

-- Keeps the snapshot and gives the runner back, in one step. Null: the session is hibernated; else the refusal.
create or replace function omicron.hibernate(p_session uuid, p_epoch integer, p_runner uuid, p_idle_seconds integer, p_keep_seconds integer,
  p_why text, p_profile uuid, p_base integer, p_object text, p_digest text, p_bytes bigint, p_tabs integer) returns jsonb
language plpgsql as $$
declare
  s omicron.browser_sessions;
  r omicron.runners;
  v_refusal jsonb;
  v_until timestamptz;
begin
  select * into s from omicron.browser_sessions where id = p_session for update;
  select * into r from omicron.runners where id = p_runner for update;
  v_refusal := coalesce(omicron.hibernation_refusal(s, r, p_epoch, p_idle_seconds),
    case when p_why = 'idle' and not omicron.expires_soon(s) then jsonb_build_object('outcome', 'refused', 'code', 'lease_in_use') end);
  if v_refusal is not null then
    update omicron.profile_objects set state = 'removing' where name = p_object and state = 'writing';
    return v_refusal;
  end if;
  v_refusal := omicron.commit_save(p_profile, p_base, p_runner, p_object, 'light', p_digest, p_bytes, '{}', '[]', 1);
  if v_refusal is not null then
    return v_refusal;
  end if;
  v_until := clock_timestamp() + make_interval(secs => p_keep_seconds);
  update omicron.profiles set writer = null where id = p_profile;
  update omicron.browser_sessions
     set status = 'hibernated', hibernated_until = v_until, expires_at = v_until, ends_at = v_until,
         claim_id = null, claim_until = null, starting_since = null, mcp_url = null, pod_name = null, service_name = null
   where id = s.id;
  perform omicron.drain_runner(r.id, 'hibernated');
  perform omicron.write_event(s.id, s.epoch, 'session.hibernated',
    jsonb_build_object('why', p_why, 'tabs', p_tabs, 'bytes', p_bytes, 'until', v_until));
  return null;
end $$;

-- make-ready.sql
-- Null: the claim was lost, read again. A repeated call whose answer was lost finds its lease ready.
create or replace function omicron.make_ready(p_session uuid, p_epoch integer, p_claim uuid, p_mcp_url text, p_workload text, p_prefix text)
returns jsonb language plpgsql as $$
declare
  s omicron.browser_sessions;
  r omicron.runners;
  v_now timestamptz;
begin
  select * into s from omicron.browser_sessions where id = p_session for update;
  if s.id is null or s.epoch <> p_epoch or s.claim_id is distinct from p_claim then
    return null;
  end if;
  select * into r from omicron.runners where id = s.runner_id for update;
  v_now := clock_timestamp();
  if s.status <> 'starting' and s.status <> 'ready' or r.state <> 'leased' or s.expires_at <= v_now then
    return null;
  end if;
  if s.status = 'ready' then
    return to_jsonb(s);
  end if;
  update omicron.browser_sessions
     set status = 'ready', mcp_url = p_mcp_url, pod_name = p_workload, service_name = p_workload,
         artifacts_s3_prefix = p_prefix, claim_until = null, last_used_at = v_now,
         -- may be sooner than the end that the start was given; its runner's deadline_at has what the runner was sent
         expires_at = least(v_now + make_interval(secs => ttl_seconds), ends_at)
   where id = s.id returning * into s;
  delete from omicron.waiting_callers where user_id = s.user_id and conversation_id = s.conversation_id; -- another call of it
  if s.hibernated_until is not null then
    perform omicron.drop_snapshot(s.id);
    perform omicron.write_event(s.id, s.epoch, 'session.restored', jsonb_build_object('runner_id', r.id));
    s.hibernated_until := null;
  end if;
  perform omicron.write_event(s.id, s.epoch, 'session.ready', jsonb_build_object('runner_id', r.id,
    'start_ms', round(extract(epoch from v_now - s.starting_since) * 1000)));
  return to_jsonb(s);
end $$;

-- pool.sql
-- Makes the number of permits the cap. Permits above it that are held are deleted once they are free.
create or replace function omicron.set_capacity(p_most integer) returns void
language plpgsql as $$
begin
  insert into omicron.permits (slot) select n from generate_series(1, p_most) n on conflict do nothing;
  delete from omicron.permits
   where slot in (select slot from omicron.permits where slot > p_most and runner_id is null for update skip locked);
end $$;

-- Drains one warm runner of another template, so that its permit can go to the first of this one: only while none is on its way.
create or replace function omicron.give_way(p_provider text, p_template text) returns void
language sql as $$
  select omicron.drain_runner(id, 'template changed') from (select id from omicron.runners
     where state = 'warm' and provider = p_provider and template <> p_template
       and not exists (select from omicron.runners
                        where provider = p_provider and (state = 'draining' or state = 'creating' and template = p_template))
     order by warm_at limit 1 for update skip locked) stale
$$;

-- The demand for warm runners: as many as leases are started in the time that a runner needs to start and the pool to look, and half as many
-- again. A lease counts from its claim, before its runner has started. Its rate is that of this time or of the last minute, or, for a step, of
-- the last second, less its standard deviation. A runner's time is that of nine of ten that were leased lately, from their
-- launch: a backlog makes no demand. `awaited`: runners that start for a lease already.
create or replace function omicron.pool_demand(p_provider text) returns jsonb
language plpgsql as $$
declare
  v_now timestamptz := clock_timestamp();
  v_start double precision;
  v_seconds double precision;
  v_in_time bigint;
  v_in_second bigint;
  v_in_minute bigint;
begin
  select percentile_cont(0.9) within group (order by date_part('epoch', warm_at - launched_at)) into v_start from (
    select warm_at, launched_at from omicron.runners
     where redeemed_at > v_now - interval '10 minutes' and provider = p_provider and launched_at is not null
     order by redeemed_at desc limit 32) lately;
  v_seconds := 0.5 + least(120, greatest(1, coalesce(v_start, 10)));
  select count(*), count(*) filter (where at > v_now - interval '1 second') into v_in_time, v_in_second from (
    select starting_since as at from omicron.browser_sessions where status = 'starting' and provider = p_provider
    union all
    select coalesce(s.starting_since, r.redeemed_at) from omicron.runners r
      left join omicron.browser_sessions s on s.id = r.session_id and s.epoch = r.epoch and s.status = 'ready'
     where r.redeemed_at > v_now - make_interval(secs => v_seconds) and r.provider = p_provider) claims
   where at > v_now - make_interval(secs => v_seconds);
  select count(*) into v_in_minute from omicron.runners where redeemed_at > v_now - interval '1 minute' and provider = p_provider;
  return jsonb_build_object(
    'runners', ceil(1.5 * greatest(v_in_time, v_in_minute * v_seconds / 60, (v_in_second - sqrt(v_in_second)) * v_seconds)),
    'awaited', (select count(*) from omicron.runners where state = 'creating' and session_id is not null and provider = p_provider));
end $$;

-- The pool's step: brings unleased runners of this template to `p_idle` and returns how many it wrote. At most
-- `p_burst` start at once, those that a lease waits for included. Runners of another template, and spare ones, become
-- `draining` before anything is deleted. A warm runner of another template stays until one of this template is warm in its
-- place: a template that does not start empties no pool. Without a free permit one of them gives way at a time.
-- A spare runner younger than a minute stays: while a new pool size rolls out, two replicas disagree on it, and one would
-- remove each second what the other creates.
create or replace function omicron.plan_pool(p_provider text, p_template text, p_idle integer, p_burst integer) returns integer
language plpgsql as $$
declare
  v_missing integer;
  v_stale integer;
  v_awaited integer;
  v_slot integer;
  v_runner uuid;
  v_created integer := 0;
begin
  perform pg_advisory_xact_lock(hashtextextended('omicron.pool:' || p_provider, 0));
  select count(*) filter (where state = 'warm') - greatest(p_idle, count(*) filter (where state = 'warm' and template = p_template)),
         p_idle - count(*) filter (where template = p_template) into v_stale, v_missing
    from omicron.runners where state in ('creating', 'warm') and session_id is null and provider = p_provider;
  perform omicron.drain_runner(id, 'template changed') from (select id from omicron.runners
                 where state = 'creating' and session_id is null and provider = p_provider and template <> p_template
                 for update skip locked) stale;
  perform omicron.drain_runner(id, 'template changed') from (select id from omicron.runners
                 where state = 'warm' and provider = p_provider and template <> p_template
                 order by warm_at limit greatest(0, v_stale) for update skip locked) stale;
  if v_missing < 0 then
    perform omicron.drain_runner(id, 'pool is full') from (select id from omicron.runners
                   where state in ('creating', 'warm') and session_id is null and provider = p_provider and template = p_template
                     and created_at < clock_timestamp() - interval '1 minute'
                   order by created_at desc limit -v_missing for update skip locked) spare;
  end if;
  select count(*) into v_awaited from omicron.runners
   where state = 'creating' and session_id is not null and provider = p_provider;
  while v_created < least(v_missing, p_burst - v_awaited) loop
    select slot into v_slot from omicron.permits where runner_id is null order by slot limit 1 for update skip locked;
    if v_slot is null then
      perform omicron.give_way(p_provider, p_template);
      exit;
    end if;
    insert into omicron.runners (provider, template) values (p_provider, p_template) returning id into v_runner;
    update omicron.permits set runner_id = v_runner where slot = v_slot;
    v_created := v_created + 1;
  end loop;
  return v_created;
end $$;

-- redeem.sql
-- The point of truth: until this answers `redeemed` a runner holds no lease. Once for a claim, and the same again for the process
-- that redeemed it: its answer may have been lost, and it alone knows `p_key` (null: it can't ask again).
--   {outcome: redeemed, user_id, remaining_ms, now_ms} | {outcome: wait} | {outcome: refused, why}
create or replace function omicron.redeem(
  p_session uuid, p_epoch integer, p_claim uuid, p_runner uuid, p_boot uuid, p_token_expires timestamptz, p_key uuid
) returns jsonb language plpgsql as $$
declare
  s omicron.browser_sessions;
  r omicron.runners;
  v_now timestamptz;
  v_why text;
  v_again boolean;
begin
  select * into s from omicron.browser_sessions where id = p_session for update;
  select * into r from omicron.runners where id = p_runner for update;
  v_now := clock_timestamp();
  v_again := coalesce(r.state = 'leased' and r.redemption_key = p_key, false);
  v_why := case
    when s.id is null or r.id is null then 'unknown'
    when p_token_expires <= v_now then 'token expired'
    when s.epoch <> p_epoch or s.claim_id is distinct from p_claim then 'superseded'
    when s.status <> 'starting' and not (v_again and s.status = 'ready') then 'not starting'
    when s.expires_at <= v_now then 'lease expired'
    when r.session_id is distinct from s.id or r.epoch is distinct from s.epoch or s.runner_id <> r.id then 'other runner'
    when r.boot_id is distinct from p_boot then 'other boot'
    when r.state <> 'claimed' and not v_again then 'already redeemed'
  end;
  if v_why is not null then
    return jsonb_build_object('outcome', 'refused', 'why', v_why);
  end if;
  if not v_again then
    if omicron.may_act(s.id, p_epoch - 1) then
      return jsonb_build_object('outcome', 'wait');
    end if;
    if s.options ? 'profile' and not omicron.open_profile(s, r.id) then
      return jsonb_build_object('outcome', 'wait');
    end if;
  end if;
  update omicron.runners
     set state = 'leased', redemption_key = p_key, redeemed_at = coalesce(redeemed_at, v_now), seen_at = v_now,
         deadline_at = greatest(deadline_at, s.expires_at)
   where id = r.id;
  return jsonb_build_object('outcome', 'redeemed', 'user_id', s.user_id, 'restores', s.hibernated_until is not null,
    'remaining_ms', floor(extract(epoch from s.expires_at - v_now) * 1000),
    'ends_in_seconds', ceil(extract(epoch from s.ends_at - v_now)),
    'now_ms', floor(extract(epoch from v_now) * 1000));
end $$;

-- release.sql
-- The platform lets its lease go without ending it (O25): it lives for its time to live, and gives way to another lease meanwhile.
-- {outcome: released | not_found | superseded | ended, session}
create or replace function omicron.release_lease(p_session uuid, p_user text, p_epoch integer) returns jsonb
language plpgsql as $$
declare
  s omicron.browser_sessions;
begin
  select * into s from omicron.browser_sessions where id = p_session and user_id = coalesce(p_user, user_id) for update;
  if s.id is null then
    return jsonb_build_object('outcome', 'not_found');
  end if;
  if p_epoch is not null and p_epoch <> s.epoch then
    return jsonb_build_object('outcome', 'superseded', 'session', to_jsonb(s));
  end if;
  if s.status not in ('starting', 'ready', 'hibernated') or s.expires_at <= clock_timestamp() then
    return jsonb_build_object('outcome', 'ended', 'session', to_jsonb(s));
  end if;
  update omicron.browser_sessions
     set yields_until = case when released_at is not null then yields_until end, released_at = coalesce(released_at, clock_timestamp())
   where id = s.id and status <> 'hibernated' returning * into s;
  if not found then
    select * into s from omicron.browser_sessions where id = p_session;
  end if;
  return jsonb_build_object('outcome', 'released', 'session', to_jsonb(s));
end $$;

-- Chooses released leases that give way to callers in the line, the longest released first: {id, hibernates}. As many as callers are in it, less
-- the places that are free or come free: of runners that drain, and of leases that were chosen before. Each is chosen once.
create or replace function omicron.yield_leases(p_provider text, p_template text, p_most integer) returns setof jsonb
language plpgsql as $$
declare
  v_now timestamptz;
  v_missing bigint;
begin
  perform pg_advisory_xact_lock(hashtextextended('omicron.line:' || p_provider, 0));
  v_now := clock_timestamp();
  select count(*) into v_missing from omicron.waiting_callers where provider = p_provider and greatest(waits_until, kept_until) > v_now;
  v_missing := v_missing - omicron.free_places(p_provider, p_template, v_missing)
    - (select count(*) from omicron.runners where state = 'draining' and provider = p_provider)
    - (select count(*) from omicron.browser_sessions
        where status = 'ready' and released_at is not null and provider = p_provider and yields_until > v_now);
  return query
    update omicron.browser_sessions s set yields_until = v_now + interval '30 seconds'
      from (select id from omicron.browser_sessions
             where status = 'ready' and released_at is not null and provider = p_provider and expires_at > v_now
               and coalesce(yields_until <= v_now, true)
             order by released_at limit greatest(0, least(v_missing, p_most)) for update skip locked) chosen
     where s.id = chosen.id
    returning jsonb_build_object('id', s.id, 'hibernates', coalesce(s.options ->> 'hibernate' = 'expiry', false));
end $$;

-- The same for controllers that choose by themselves, until the last of them is replaced.
create or replace function omicron.released_leases(p_provider text, p_most integer) returns setof jsonb
language sql stable as $$
  select jsonb_build_object('id', id, 'hibernates', coalesce(options ->> 'hibernate' = 'expiry', false)) from omicron.browser_sessions
   where status = 'ready' and released_at is not null and provider = p_provider and expires_at > (select clock_timestamp())
   order by released_at limit p_most
$$;

-- Ends a lease that gives way. False: it is held again, or over.
create or replace function omicron.end_released(p_session uuid) returns boolean
language plpgsql as $$
declare
  s omicron.browser_sessions;
begin
  select * into s from omicron.browser_sessions where id = p_session for update;
  if s.status is distinct from 'ready' or s.released_at is null then
    return false;
  end if;
  perform omicron.close_lease(s, 'ended', 'evicted', null);
  return true;
end $$;

-- renew.sql
-- A caller's heartbeat (O2): it holds the lease, and is a use of it. Null epoch: the current one.
-- {outcome: renewed | not_found | superseded | hibernated | ended, session}
create or replace function omicron.heartbeat(p_session uuid, p_user text, p_epoch integer) returns jsonb
language plpgsql as $$
declare
  s omicron.browser_sessions;
  v_now timestamptz;
begin
  select * into s from omicron.browser_sessions where id = p_session and user_id = coalesce(p_user, user_id) for update;
  if s.id is null then
    return jsonb_build_object('outcome', 'not_found');
  end if;
  v_now := clock_timestamp();
  if p_epoch is not null and p_epoch <> s.epoch then
    return jsonb_build_object('outcome', 'superseded', 'session', to_jsonb(s));
  end if;
  if s.status = 'hibernated' and s.expires_at > v_now then
    return jsonb_build_object('outcome', 'hibernated', 'session', to_jsonb(s));
  end if;
  if s.status not in ('starting', 'ready') or s.expires_at <= v_now then
    return jsonb_build_object('outcome', 'ended', 'session', to_jsonb(s));
  end if;
  update omicron.browser_sessions
     set last_used_at = v_now, released_at = null,
         expires_at = greatest(expires_at, least(v_now + make_interval(secs => ttl_seconds), ends_at))
   where id = s.id returning * into s;
  return jsonb_build_object('outcome', 'renewed', 'session', to_jsonb(s));
end $$;

-- A runner reports calls and asks for the milliseconds left. Null: its lease is over. Never revives a lease.
create or replace function omicron.report_activity(p_session uuid, p_epoch integer, p_runner uuid, p_calls integer) returns bigint
language plpgsql as $$
declare
  s omicron.browser_sessions;
  r omicron.runners;
  v_now timestamptz;
begin
  select * into s from omicron.browser_sessions where id = p_session for update;
  select * into r from omicron.runners where id = p_runner for update;
  v_now := clock_timestamp();
  if s.id is null or s.epoch <> p_epoch or s.runner_id is distinct from p_runner or r.state is distinct from 'leased'
     or s.status not in ('starting', 'ready') or s.expires_at <= v_now then
    return null;
  end if;
  if p_calls > 0 then
    update omicron.browser_sessions
       set last_used_at = v_now,
           -- a report may be late: its calls may be of before the release
           released_at = case when released_at > v_now - interval '20 seconds' then released_at end,
           expires_at = greatest(expires_at, least(v_now + make_interval(secs => ttl_seconds), ends_at))
     where id = s.id returning * into s;
  end if;
  update omicron.runners set seen_at = v_now, deadline_at = greatest(deadline_at, s.expires_at) where id = r.id;
  return floor(extract(epoch from s.expires_at - v_now) * 1000);
end $$;

-- For how long the platform holds the lease yet: half of its time to live from its last use, until it is released. Its browser is
-- not frozen in that time. Clients of this repository send a heartbeat after a third.
create or replace function omicron.held_ms(s omicron.browser_sessions) returns bigint
language sql as $$
  select case when s.released_at is null
    then greatest(0, floor(extract(epoch from s.last_used_at + make_interval(secs => s.ttl_seconds / 2.0) - clock_timestamp()) * 1000))::bigint
    else 0 end
$$;

-- runner-gone.sql
-- The runner acknowledged its drain: it serves no agent any more. Whether that ends the wait of those who ended its epoch: no runner of an
-- earlier one may act either.
create or replace function omicron.drain_acknowledged(p_runner uuid) returns boolean
language plpgsql as $$
declare
  r omicron.runners;
begin
  update omicron.runners set acknowledged_at = coalesce(acknowledged_at, clock_timestamp())
   where id = p_runner and state = 'draining' returning * into r;
  return r.session_id is not null and not omicron.may_act(r.session_id, r.epoch);
end $$;

-- Its process and its files are removed: the permit is free. A recorded lease that left no video gets a recorded
-- loss.
create or replace function omicron.runner_gone(p_runner uuid) returns void
language plpgsql as $$
declare
  r omicron.runners;
begin
  update omicron.runners set state = 'gone', gone_at = clock_timestamp(), acknowledged_at = coalesce(acknowledged_at, clock_timestamp())
   where id = p_runner and state = 'draining' returning * into r;
  if not found then
    return;
  end if;
  update omicron.permits set runner_id = null where runner_id = p_runner;
  if r.redeemed_at is not null then
    insert into omicron.artifacts (session_id, epoch, runner_id, name, state, reason)
    select r.session_id, r.epoch, r.id, 'recording', 'lost', 'The runner ended and left no recording.'
     where r.recorded and not exists (select from omicron.artifacts where runner_id = r.id and kind = 'video');
    perform omicron.write_event(r.session_id, r.epoch, 'runner.gone', jsonb_build_object('runner_id', r.id, 'reason', r.reason));
  end if;
end $$;

-- work.sql
-- The launch and drain loops. Each takes rows, and a row is one worker's until `work_until`.

create or replace function omicron.take_work(p_provider text, p_state text, p_most integer, p_work_seconds integer) returns setof omicron.runners
language sql as $$
  update omicron.runners
     set work_until = clock_timestamp() + make_interval(secs => p_work_seconds),
         launched_at = case when p_state = 'creating' then coalesce(launched_at, clock_timestamp()) else launched_at end
   where id in (select id from omicron.runners
                 where provider = p_provider and state = p_state and state in ('creating', 'draining')
                   and work_until < (select clock_timestamp())
                 order by created_at limit p_most for update skip locked)
  returning *
$$;

-- A worker still launches these. A row that another statement holds is left to the next call, so that none waits for it.
create or replace function omicron.keep_work(p_runners uuid[], p_work_seconds integer) returns void
language sql as $$
  update omicron.runners set work_until = clock_timestamp() + make_interval(secs => p_work_seconds)
   where id in (select id from omicron.runners where id = any (p_runners) and state = 'creating' for update skip locked)
$$;

-- A launch ended whose runner is already draining: it may be removed at once, not only when the launcher's turn is
-- over.
create or replace function omicron.launch_over(p_runner uuid) returns void
language sql as $$
  update omicron.runners set work_until = '-infinity' where id = p_runner and state = 'draining'
$$;

-- A runner came up: warm, or claimed when a lease has reserved it. Null: it is not wanted any more.
create or replace function omicron.runner_up(p_runner uuid, p_boot uuid, p_endpoint text) returns text
language plpgsql as $$
declare
  r omicron.runners;
begin
  select * into r from omicron.runners where id = p_runner;
  if r.session_id is not null then
    perform from omicron.browser_sessions where id = r.session_id for update;
  end if;
  update omicron.runners
     set state = case when session_id is null then 'warm' else 'claimed' end, boot_id = p_boot, endpoint = p_endpoint,
         warm_at = clock_timestamp(), seen_at = clock_timestamp()
   where id = p_runner and state = 'creating' returning * into r;
  if found then
    return r.state;
  end if;
  perform omicron.launch_over(p_runner);
  return null;
end $$;

-- runner-lost.sql
-- A runner died. `ended`: its process is known to have ended; `leaving`: it is stopping and may still act;
-- `not_started`: its launch was given up, which counts only while it is creating: another worker may have seen it
-- come up. Its lease, if it is live, becomes an error that says so; a new request starts a new epoch. A runner closes
-- by its own clock half a second before its lease's end: then the lease has expired, and nothing was lost.
-- 'lost' | 'expired' | 'leaving': what became of its lease. 'nothing': it had none. Null: it was claimed meanwhile, call again.
-- A runner that is leaving with a ready lease that asks for it has `p_grace_seconds` to hibernate it: 'leaving' until then.
create or replace function omicron.runner_lost(p_runner uuid, p_how text, p_reason text, p_error text, p_grace_seconds integer) returns text
language plpgsql as $$
declare
  s omicron.browser_sessions;
  r omicron.runners;
  v_outcome text := 'nothing';
begin
  select * into r from omicron.runners where id = p_runner;
  if r.session_id is not null then
    select * into s from omicron.browser_sessions where id = r.session_id for update;
  end if;
  select * into r from omicron.runners where id = p_runner for update;
  if r.id is null or r.state = 'gone' or (p_how = 'not_started' and r.state <> 'creating') then
    perform omicron.launch_over(p_runner);
    return v_outcome;
  end if;
  if r.session_id is distinct from s.id then -- claimed between the two reads; the session must be locked first
    return null;
  end if;
  if s.runner_id = r.id and s.epoch = r.epoch and s.status in ('starting', 'ready') then
    if s.status = 'ready' and s.expires_at <= clock_timestamp() + interval '1 second' then
      perform omicron.expire_lease(s);
      v_outcome := 'expired';
    elsif p_how = 'leaving' and s.status = 'ready' and p_grace_seconds > 0 and s.options ? 'hibernate'
       and coalesce(r.leaving_at, clock_timestamp()) > clock_timestamp() - make_interval(secs => p_grace_seconds) then
      update omicron.runners set leaving_at = coalesce(leaving_at, clock_timestamp()) where id = r.id;
      return 'leaving';
    else
      perform omicron.close_lease(s, 'error', p_reason, p_error);
      v_outcome := 'lost';
    end if;
  end if;
  perform omicron.drain_runner(r.id, p_reason || ': ' || p_error);
  -- the caller's work on it is done; and only an ended process certainly serves no agent
  update omicron.runners
     set work_until = '-infinity',
         acknowledged_at = case when p_how = 'ended' then coalesce(acknowledged_at, clock_timestamp()) else acknowledged_at end
   where id = r.id;
  return v_outcome;
end $$;

-- tallies.sql
-- Ends of leases and recordings, counted where they are written.

-- A connection writes one of 32 rows of a label: the next connections of a server write others.
create or replace function omicron.tally(p_metric text, p_label text) returns void
language sql as $$
  insert into omicron.tally_shards as t (metric, label, shard, total) values (p_metric, p_label, pg_backend_pid() % 32, 1)
  on conflict (metric, label, shard) do update set total = t.total + 1
$$;

-- Every end of a lease writes one of these events (close_lease).
create or replace function omicron.tally_end() returns trigger language plpgsql as $$
begin
  perform omicron.tally('sessions_ended', new.data ->> 'reason');
  return null;
end $$;

create or replace trigger tally_end after insert on omicron.session_events
  for each row when (new.kind in ('session.ended', 'session.error')) execute function omicron.tally_end();

-- Counts an event under its kind's last part; the trigger names the metric.
create or replace function omicron.tally_kind() returns trigger language plpgsql as $$
begin
  perform omicron.tally(tg_argv[0], split_part(new.kind, '.', 2));
  return null;
end $$;

create or replace trigger tally_freeze after insert on omicron.session_events
  for each row when (new.kind in ('browser.frozen', 'browser.thawed')) execute function omicron.tally_kind('freezes');

create or replace trigger tally_hibernation after insert on omicron.session_events
  for each row when (new.kind in ('session.hibernated', 'session.restored', 'session.restore_failed', 'session.hibernate_failed'))
  execute function omicron.tally_kind('hibernations');

-- A recording reported lost and stored later counts as both: a counter never falls.
create or replace function omicron.tally_recording() returns trigger language plpgsql as $$
begin
  perform omicron.tally('recordings', new.state);
  return null;
end $$;

create or replace trigger tally_recording after insert or update of state on omicron.artifacts
  for each row when (new.kind = 'video' and new.state in ('stored', 'lost')) execute function omicron.tally_recording();

-- user-actions.sql
-- An agent's request to its user (A10), and the answer. Null: this runner's lease is over. Repeating it answers how it stands; a runner
-- that waits repeats it each 20 s.
create or replace function omicron.ask_user(p_session uuid, p_epoch integer, p_runner uuid, p_id uuid, p_reason text, p_seconds integer, p_credential jsonb default null)
returns omicron.user_actions language plpgsql as $$
declare
  a omicron.user_actions;
begin
  a := omicron.user_action(p_session, p_id);
  if a.id is not null then
    return a;
  end if;
  if (select omicron.live_leases(array[p_runner])) ->> 'epoch' is distinct from p_epoch::text then
    return null;
  end if;
  insert into omicron.user_actions (id, session_id, epoch, reason, expires_at, credential)
    values (p_id, p_session, p_epoch, p_reason, clock_timestamp() + make_interval(secs => p_seconds), p_credential)
  on conflict (id) do nothing;
  if found then
    perform omicron.write_event(p_session, p_epoch, 'user_action.requested', jsonb_build_object('id', p_id, 'reason', p_reason));
  end if;
  return omicron.user_action(p_session, p_id);
end $$;

-- One user action as it stands; one whose time is over, or whose lease has ended, is expired.
create or replace function omicron.user_action(p_session uuid, p_id uuid) returns omicron.user_actions
language plpgsql as $$
declare
  a omicron.user_actions;
begin
  update omicron.user_actions u set status = 'expired', answered_at = clock_timestamp()
   where u.id = p_id and u.session_id = p_session and u.status = 'pending'
     and (u.expires_at <= clock_timestamp()
       or not exists (select from omicron.browser_sessions s
                       where s.id = u.session_id and s.epoch = u.epoch and s.status in ('starting', 'ready')));
  select * into a from omicron.user_actions where id = p_id and session_id = p_session;
  return a;
end $$;

-- Those of these user actions for which no agent waits any more, by the rule of `user_action`.
create or replace function omicron.closed_user_actions(p_actions uuid[]) returns setof uuid
language sql stable as $$
  select asked.id from unnest(p_actions) asked(id)
   where not exists (select from omicron.user_actions u join omicron.browser_sessions s on s.id = u.session_id and s.epoch = u.epoch
                      where u.id = asked.id and u.status = 'pending' and u.expires_at > now() and s.status in ('starting', 'ready'))
$$;

-- The first answer counts. `p_by` has the person: `viewer`, `identity`; controllers of 0.1.0 know no person. Null: there is no such user action.
create or replace function omicron.answer_user_action(p_session uuid, p_id uuid, p_status text, p_note text, p_by jsonb default null)
returns omicron.user_actions language plpgsql as $$
declare
  a omicron.user_actions;
begin
  a := omicron.user_action(p_session, p_id);
  update omicron.user_actions set status = p_status, note = p_note, answered_at = clock_timestamp(), answered_by = p_by
   where id = a.id and status = 'pending' returning * into a;
  if found then
    perform omicron.write_event(a.session_id, a.epoch, 'user_action.answered', jsonb_build_object('id', a.id, 'status', a.status) || coalesce(p_by, '{}'));
    return a;
  end if;
  return omicron.user_action(p_session, p_id);
end $$;

-- vault.sql
-- depends on concat_ws(' ', to_regclass('vault.decrypted_secrets')::oid, to_regrole('service_role')::oid, to_regproc('public.get_vault_secret')::oid, has_schema_privilege(to_regnamespace('vault')::oid, 'usage'), has_schema_privilege('public', 'create'))
-- Supabase Vault, where it is switched on and this role may use it: read and change one user's document. Called over SQL, or over
-- PostgREST's rpc by the service role; no other role may execute these functions. A `public.get_vault_secret` is the platform's:
-- it is read by that one, which nothing here replaces, grants or revokes. <https://supabase.com/docs/guides/database/vault>
do $vault$
declare
  signature text;
  created text[] := array['public.omicron_change_vault_credential(text, text, jsonb)'];
begin
  if to_regclass('vault.decrypted_secrets') is null or not has_schema_privilege('vault', 'usage')
     or not has_schema_privilege('public', 'create') then
    return;
  end if;

  if to_regproc('public.get_vault_secret') is null then
    create or replace function public.omicron_get_vault_secret(secret_name text) returns text
    language sql stable security definer set search_path = '' as $$
      select decrypted_secret from vault.decrypted_secrets where name = secret_name
    $$;
    created := created || 'public.omicron_get_vault_secret(text)'::text;
  end if;

  -- Under a lock: two changes of one document at once must not lose one. A null credential removes the site.
  create or replace function public.omicron_change_vault_credential(secret_name text, site text, credential jsonb) returns boolean
  language plpgsql security definer set search_path = '' as $$
  declare
    v_id uuid;
    v_document jsonb;
  begin
    perform pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended('omicron.vault:' || secret_name, 0));
    select id, decrypted_secret::jsonb into v_id, v_document from vault.decrypted_secrets where name = secret_name;
    if credential is null then
      if v_document -> 'credentials' -> site is null then
        return false;
      end if;
      perform vault.update_secret(v_id, (v_document #- array['credentials', site])::text);
      return true;
    end if;
    if v_id is null then
      perform vault.create_secret(
        pg_catalog.jsonb_build_object('credentials', pg_catalog.jsonb_build_object(site, credential))::text, secret_name);
    else
      perform vault.update_secret(v_id, (v_document || pg_catalog.jsonb_build_object('credentials',
        coalesce(v_document -> 'credentials', '{}') || pg_catalog.jsonb_build_object(site, credential)))::text);
    end if;
    return true;
  end $$;

  foreach signature in array created loop
    execute format('revoke all on function %s from public', signature);
    if exists (select from pg_catalog.pg_roles where rolname = 'service_role') then
      execute format('revoke all on function %s from anon, authenticated', signature);
      execute format('grant execute on function %s to service_role', signature);
    end if;
  end loop;
end $vault$;

-- webhooks.sql
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

-- Files that a release has applied, and the functions that it created.
insert into omicron.migrations (name, digest, declares) values ('0001_tables.sql', '7e3eb287470429ead5ee527bac89e9dd7c1689c714458c061b3e150258e953e3', NULL);
insert into omicron.migrations (name, digest, declares) values ('0004_policies.sql', '49889e9072868c1972d6fdf6d8d18855deace37e46f7a0a020211c31740871c4', NULL);
insert into omicron.migrations (name, digest, declares) values ('0005_recordings.sql', '0ccd7f41ff34e8ecb9aae70af3549d363df5cdada24d15969d3e12d0ad842d18', NULL);
insert into omicron.migrations (name, digest, declares) values ('0008_profiles.sql', '3d0a32b6d5c0b7bb567a0cba1a6da9190a8d52ad472078caf11b612bba1b32d9', NULL);
insert into omicron.migrations (name, digest, declares) values ('0009_files.sql', '2f92a63e0bd5b62afd2ddf2d80b66a17113b0f3c9fc37d25ca3bea4f05c197d7', NULL);
insert into omicron.migrations (name, digest, declares) values ('0015_profile_chunks.sql', 'd223450bbb72fbc5d09b40a740371b788653800f456e38f901df356bbc77d4eb', NULL);
insert into omicron.migrations (name, digest, declares) values ('0016_freezes.sql', '49e74e0a001e4963b93af700d2ea9dd177e11dd79c9f17c56a0eec0abf996a08', NULL);
insert into omicron.migrations (name, digest, declares) values ('0017_profile_retention.sql', 'dbb857dd497075b77d93951dca9245a3e3580b3fb37d40126881a3c39592b71f', NULL);
insert into omicron.migrations (name, digest, declares) values ('0019_hibernation.sql', '993ab995a0304cb80c7e7624e85c2ee0410c52e1e33b4908e0501cfa915a84ff', NULL);
insert into omicron.migrations (name, digest, declares) values ('0020_pages.sql', '96d30c8ba248f0cbc260ecc5e3bca0d4266b51f4d69771c4ec77af1747a689f0', NULL);
insert into omicron.migrations (name, digest, declares) values ('0021_redemption_key.sql', '92d9567bbf292b2330a0d49a5b04d271953f7219e6ac08ed804c5de09dd38fa1', NULL);
insert into omicron.migrations (name, digest, declares) values ('0022_cancelled_calls.sql', '9b823cf3bd2f5d7d79c30486057de053e41ef155248ba2d148f946f2eb5ed455', NULL);
insert into omicron.migrations (name, digest, declares) values ('0023_user_erasures.sql', '298c8507a0f4e6e6983db415322f88167c2536b20e2bb253a06392170ad48da1', NULL);
insert into omicron.migrations (name, digest, declares) values ('0024_retention.sql', 'b63650f5400f93c8d51f7d2ef12d1a1acc65fb6a76c5fcb221bf11f67201d361', NULL);
insert into omicron.migrations (name, digest, declares) values ('0025_launches.sql', '1eef77d647c5e64f9833816ba852aae40e00e3d12f8a4aac65551a5841e6e617', NULL);
insert into omicron.migrations (name, digest, declares) values ('0026_due_files.sql', '071e5869dca28c962df0528fcb95dad7937b3546e70d2774e2309811d04ffab9', NULL);
insert into omicron.migrations (name, digest, declares) values ('0027_line.sql', '46ecf8c3cc4ffb0c4594eb16cd6cffcdd56cdfbd6e682953546e63149fb9ae9e', NULL);
insert into omicron.migrations (name, digest, declares) values ('0028_hot_updates.sql', 'bc7d4784d132bc55686cdbc756cdb41d99418b50eaeebb0929d09c8fa69d2715', NULL);
insert into omicron.migrations (name, digest, declares) values ('0029_event_order.sql', '018cf2e6182b0a3cfa5c1ffa5388a989347e4e31cc9bbc1979ad5502db3784aa', NULL);
insert into omicron.migrations (name, digest, declares) values ('0030_credential_questions.sql', 'daef2e0e66f0f6f817e7736d6303b4748852eece3202e266598b58c311b76990', NULL);
insert into omicron.migrations (name, digest, declares) values ('0031_answered_by.sql', '66a17882fcb71d6cda8f1f310c789d9423e24ff9dc991f60121d0300c4a5b31c', NULL);
insert into omicron.migrations (name, digest, declares) values ('0032_usage.sql', 'bde4018bf17e1c9fe922f3415c3b7a46f73485f2ac5199d1512dc1ae444c950a', NULL);
insert into omicron.migrations (name, digest, declares) values ('0033_yields.sql', 'd73c849bae60eca07c54bceecdfe803ac9128f20126c933d8628f646965eff39', NULL);
insert into omicron.migrations (name, digest, declares) values ('0034_webhooks.sql', 'c36f2014e6de9f1438c660441a9043511b902182337c189e700bd1e7e654d4c3', NULL);
insert into omicron.migrations (name, digest, declares) values ('0035_audit.sql', '819a4b0848fc5c35b78c79ef0ef0a194def6589aca1ae488152c09a617578a9c', NULL);
insert into omicron.migrations (name, digest, declares) values ('0036_tally_shards.sql', '4ffdc3967bd0645e655d7969ce0acdbf08354f6b85d84dfe428a4168cfd6b1d8', NULL);
insert into omicron.migrations (name, digest, declares) values ('0037_due_artifacts.sql', 'd6e265be7dce32d0ebc7f387c09fe4c56e4120ce1a62083075d885f136fc645a', NULL);
insert into omicron.migrations (name, digest, declares) values ('0038_fewer_reads.sql', 'a10e8b2b4336e75792adf6e6e5791d2836c9b91a25c8b96c61ad7ca76959e0e5', NULL);
insert into omicron.migrations (name, digest, declares) values ('0039_due_leases.sql', 'c6241a3976468857422bb53bf0442ea789476326e7d90a3e853f7371488f212b', NULL);
insert into omicron.migrations (name, digest, declares) values ('functions/acquire.sql', '8dd4117b644230fc9bbdde8506eaf7bb09eab73f29425568b65935140c492b97', '{"omicron.acquire(text, text, uuid, uuid, integer, integer, jsonb, jsonb, text, text, text, integer, text, integer, integer, boolean, uuid[], boolean)"}');
insert into omicron.migrations (name, digest, declares) values ('functions/artifacts.sql', 'bb40038132f511d3ed62f85e7b2141f767677d93dd10032f8e2d5d92216b6687', '{"omicron.file_due_at(jsonb, text)","omicron.write_artifact(uuid, integer, uuid, text, text, text, bigint, text)"}');
insert into omicron.migrations (name, digest, declares) values ('functions/audit.sql', 'fda2ea4523ed93ae4b213cb138e42899e4eae5aabf20f49f2d3810daefe3b1da', '{omicron.set_audit(boolean),omicron.write_audit(jsonb),omicron.audit_event(),"omicron.audit_take(text, double precision, integer, double precision)",omicron.audit_written(bigint)}');
insert into omicron.migrations (name, digest, declares) values ('functions/claim.sql', '68970c946873fd8634e5c52d880977e736d7ddd43f954449d1211732b989a972', '{"omicron.may_start(omicron.browser_sessions, integer)","omicron.beat_claim(uuid, integer, uuid, integer, integer)","omicron.beat_claims(uuid[], integer[], uuid[], integer, integer)","omicron.begin_assignment(uuid, integer, uuid)","omicron.fail_claim(uuid, integer, uuid, text, text)"}');
insert into omicron.migrations (name, digest, declares) values ('functions/close-lease.sql', 'df7f54360d2cb92a1c042270b756e3e489e366c24d54d085c7c9bea2041a2cb2', '{"omicron.drain_runner(uuid, text, timestamp with time zone)","omicron.close_lease(omicron.browser_sessions, text, text, text, timestamp with time zone)",omicron.expire_lease(omicron.browser_sessions)}');
insert into omicron.migrations (name, digest, declares) values ('functions/egress-leases.sql', 'c8b1bd4e9063326410c551384d5c478edaa68371a985443c4cf29e5c61db321a', '{omicron.live_leases(uuid[]),omicron.awaited_uploads(uuid[]),omicron.held_leases()}');
insert into omicron.migrations (name, digest, declares) values ('functions/end-lease.sql', '6e0ab23278ee105c75bd0db7dcc34ede425605c76dfb5f020d7d1526a1af9a57', '{"omicron.end_lease(uuid, text, integer, text, double precision)","omicron.archive(uuid, text)",omicron.end_all(text)}');
insert into omicron.migrations (name, digest, declares) values ('functions/erase-user.sql', 'cdce99d095255236230bf91eec07985e552d9c7f6acf5aa5767ee59b267f6d2a', '{omicron.begin_erasure(text),"omicron.finish_erasure(text, text)","omicron.count_erased(text, jsonb)","omicron.erase_rows(text, integer)"}');
insert into omicron.migrations (name, digest, declares) values ('functions/event-stream.sql', '9bdf3570bdf40a06e89176dfd55acba65b203888505ecbfff7fb2d62f25e4559', '{omicron.event_tx(),omicron.event_horizon(),omicron.resume_event_clock(),"omicron.events_after(bigint, bigint, text, uuid, text[], integer)"}');
insert into omicron.migrations (name, digest, declares) values ('functions/expire.sql', '7e9b2040cbc84b2376224cc827e3a01a93bde3af454c0f0a8251dd28c4891390', '{omicron.expire_leases(integer),"omicron.move_due(timestamp with time zone)","omicron.fail_stuck_starts(integer, integer)"}');
insert into omicron.migrations (name, digest, declares) values ('functions/guards.sql', '37442c052f53827bdd089d79e9fa9d86fa1f7fbdc514f519de17be64d1d5a8d8', '{omicron.guard_session(),omicron.guard_runner()}');
insert into omicron.migrations (name, digest, declares) values ('functions/hibernate.sql', 'f2187022281c775e250f85aa6fbff6fb76181f4fc7b6bd4338b7929aa00dbbb2', '{omicron.expires_soon(omicron.browser_sessions),"omicron.expiring_leases(text, integer)","omicron.hibernation_refusal(omicron.browser_sessions, omicron.runners, integer, integer)","omicron.begin_hibernation(uuid, integer, uuid, integer)","omicron.hibernate(uuid, integer, uuid, integer, integer, text, uuid, integer, text, text, bigint, integer)"}');
insert into omicron.migrations (name, digest, declares) values ('functions/line.sql', 'd50e0705af227f5fcf7fb251c5dbbc1ead688fb873c22eb92378da7dbd916c75', '{"omicron.free_places(text, text, bigint)",omicron.line_wait_ms(bigint),omicron.line_retry_ms(integer),"omicron.join_line(text, text, text, text, boolean, integer, boolean)","omicron.line_turns(text, text, bigint[])","omicron.leave_line(bigint, boolean)"}');
insert into omicron.migrations (name, digest, declares) values ('functions/make-ready.sql', '95b7e48e8ff655359fec110e4af826091939ff82ec585b6a8e1f9a809d7ebf49', '{"omicron.make_ready(uuid, integer, uuid, text, text, text)"}');
insert into omicron.migrations (name, digest, declares) values ('functions/may-act.sql', '75430f3169d777629d4d5a3927bfc95a218366849c10029bf7336e89cb49fb76', '{"omicron.may_act(uuid, integer)"}');
insert into omicron.migrations (name, digest, declares) values ('functions/policies.sql', '303c7197b48996266831c3e99c2f5ad24a300e42cec23fd0525590c6508c5e47', '{"omicron.put_policy(text, text, jsonb)","omicron.policy_version(bigint, bigint, bigint, boolean)","omicron.policy_of(uuid, text)"}');
insert into omicron.migrations (name, digest, declares) values ('functions/pool.sql', 'd1c39801ac5b6088a2f1da4146441b72bfef737ba144c4f502793a3b49e83504', '{omicron.set_capacity(integer),"omicron.give_way(text, text)",omicron.pool_demand(text),"omicron.plan_pool(text, text, integer, integer)"}');
insert into omicron.migrations (name, digest, declares) values ('functions/profiles.sql', '3b7ab7806ef7a014810aabaacb1b8cbe6f25412816dae3e47d4e7385fe5f86e7', '{"omicron.profile_holder(text, text, uuid)",omicron.profile_in_use(omicron.browser_sessions),"omicron.has_other_profile(omicron.browser_sessions, jsonb)","omicron.make_profile(text, text)","omicron.claim_profile(text, uuid, jsonb)",omicron.profile_closing(omicron.profiles),"omicron.open_profile(omicron.browser_sessions, uuid)","omicron.profile_content(omicron.profiles, integer)","omicron.lease_profile(uuid, integer, uuid)","omicron.written_profile(uuid, integer, uuid)","omicron.begin_objects(uuid, integer, uuid, text[], bigint[], bigint)","omicron.save_refusal(uuid, integer, uuid)","omicron.commit_save(uuid, integer, uuid, text, text, text, bigint, text[], jsonb, integer)","omicron.drop_versions(uuid, integer)","omicron.lease_chunks(uuid, integer, uuid, text[])","omicron.release_profile(uuid, integer, uuid)",omicron.drop_unused_key(text),"omicron.delete_profile(text, text)","omicron.loose_objects(integer, integer)"}');
insert into omicron.migrations (name, digest, declares) values ('functions/prune.sql', '790bc3b806931aa4d2a8b5961bfe9744ca6b8fb5cc4a0db9adb0ee792ef53030', '{omicron.may_prune(),"omicron.floor_place(text, text)","omicron.first_epoch(text, text)","omicron.prune_events(integer, bigint, integer)",omicron.prune_artifacts(uuid[]),"omicron.prune_sessions(integer, jsonb, integer)","omicron.prune_runners(integer, integer)"}');
insert into omicron.migrations (name, digest, declares) values ('functions/redeem.sql', '20581a4c5125a42bc187e162dca213b478a67e946d13d06c9ea52b38e0e81bf7', '{"omicron.redeem(uuid, integer, uuid, uuid, uuid, timestamp with time zone, uuid)"}');
insert into omicron.migrations (name, digest, declares) values ('functions/release.sql', '79d6d16456115bf01f8def351c96f992eb54862461cb10596a423715686cbfa3', '{"omicron.release_lease(uuid, text, integer)","omicron.yield_leases(text, text, integer)","omicron.released_leases(text, integer)",omicron.end_released(uuid)}');
insert into omicron.migrations (name, digest, declares) values ('functions/renew.sql', '21b1547a929da93afb62e40d498e36286acfe43db9b1b6acc8d0b22d08312a57', '{"omicron.heartbeat(uuid, text, integer)","omicron.report_activity(uuid, integer, uuid, integer)",omicron.held_ms(omicron.browser_sessions)}');
insert into omicron.migrations (name, digest, declares) values ('functions/runner-gone.sql', '2992281f259407db73bbac847f591fa6c977d8e9e9ac9b405300cc0723a50559', '{omicron.drain_acknowledged(uuid),omicron.runner_gone(uuid)}');
insert into omicron.migrations (name, digest, declares) values ('functions/runner-lost.sql', 'e9767c1d058024d3d6aec86ce2a26f43d4990b8a408523d9e5b7c0cda4d43476', '{"omicron.runner_lost(uuid, text, text, text, integer)"}');
insert into omicron.migrations (name, digest, declares) values ('functions/snapshot.sql', '24bef019edef55a14ecd21a6eacac57f805a722cecbee07f658ed79c34f2f585', '{"omicron.lease_snapshot(uuid, integer, uuid)",omicron.drop_snapshot(uuid),"omicron.restored_options(omicron.browser_sessions, jsonb)"}');
insert into omicron.migrations (name, digest, declares) values ('functions/tallies.sql', 'c78b1b9ea6fc9804add20abfbd5e69cab941e2d5a57184f4baedb82fd8b5925e', '{"omicron.tally(text, text)",omicron.tally_end(),omicron.tally_kind(),omicron.tally_recording()}');
insert into omicron.migrations (name, digest, declares) values ('functions/timeline.sql', '32cc4e8637db65039a3ca70f9afa1cbc4ba972ff5042b4dd965a069efdb34485', '{"omicron.write_event(uuid, integer, text, jsonb)","omicron.held_lease(uuid, integer, uuid)","omicron.write_events(uuid, integer, uuid, jsonb)",omicron.write_denials(jsonb)}');
insert into omicron.migrations (name, digest, declares) values ('functions/user-actions.sql', 'd3a56a65a9aa9182ca093b8359055d641dc78854ee5dc9d3dcfde456bfe54226', '{"omicron.ask_user(uuid, integer, uuid, uuid, text, integer, jsonb)","omicron.user_action(uuid, uuid)",omicron.closed_user_actions(uuid[]),"omicron.answer_user_action(uuid, uuid, text, text, jsonb)"}');
insert into omicron.migrations (name, digest, declares) values ('functions/vault.sql', '1f624e7bfa7f06f6241e60d7a4a6e6835bf370408797b3a38f74c0b3717453d8 t', '{}');
insert into omicron.migrations (name, digest, declares) values ('functions/webhooks.sql', '5effad47a31704c8ed94a0cf2a27ebc956d024cf91c3645b489239e46b8cf377', '{omicron.webhook_view(omicron.webhooks),omicron.list_webhooks(uuid),"omicron.add_webhook(uuid, text, text, text[], text, text, integer)","omicron.pause_webhook(uuid, boolean)","omicron.rotate_webhook_secret(uuid, text, double precision)",omicron.webhook_secrets(omicron.webhooks),omicron.webhook_target(uuid),omicron.free_webhooks(),"omicron.hold_webhook(uuid, uuid, boolean, double precision)","omicron.release_webhook(uuid, uuid)","omicron.holds_webhook(uuid, uuid)",omicron.waiting_sessions(uuid),"omicron.advance_webhook(uuid, uuid, bigint, bigint, boolean, jsonb, double precision)","omicron.webhook_event(omicron.session_events, omicron.browser_sessions, omicron.webhooks, double precision)","omicron.due_waits(uuid, integer, integer, double precision)","omicron.settle_wait(uuid, uuid, uuid, bigint, bigint, boolean, boolean, text, double precision, jsonb)","omicron.list_webhook_failures(uuid, bigint, integer)","omicron.replay_webhook(uuid, bigint[])","omicron.replayed_events(uuid, integer)","omicron.settle_replay(uuid, uuid, bigint[], jsonb)"}');
insert into omicron.migrations (name, digest, declares) values ('functions/work.sql', 'c623917be5196e3bc2eb947d27eabe83a9a82fcd2b5a9cefbfe1386e5ab0d626', '{"omicron.take_work(text, text, integer, integer)","omicron.keep_work(uuid[], integer)",omicron.launch_over(uuid),"omicron.runner_up(uuid, uuid, text)"}');
