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
