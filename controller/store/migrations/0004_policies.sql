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
