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
