-- Hibernated sessions: what their browsers held is kept, encrypted, while they have no runner.
alter table omicron.browser_sessions drop constraint browser_sessions_status_check;
alter table omicron.browser_sessions add constraint browser_sessions_status_check
  check (status in ('starting', 'ready', 'hibernated', 'ended', 'error'));

-- Until when the snapshot of the session is kept; null: it has none. Set while it is hibernated and while it is restored.
alter table omicron.browser_sessions add column hibernated_until timestamptz;
alter table omicron.browser_sessions add constraint browser_sessions_hibernated
  check (status <> 'hibernated' or hibernated_until is not null);

-- When the browser was last asked for or used. A heartbeat keeps a lease, and is no use of its browser.
alter table omicron.browser_sessions add column active_at timestamptz not null default clock_timestamp();
create index browser_sessions_by_use on omicron.browser_sessions (active_at) where status = 'ready';

-- A snapshot is a profile of its session alone, which has no name that a user could give.
alter table omicron.profiles add column session_id uuid unique references omicron.browser_sessions (id);

-- When a runner was first seen leaving: with its node it may have some seconds to hibernate its session.
alter table omicron.runners add column leaving_at timestamptz;

alter table omicron.tallies drop constraint tallies_metric_check;
alter table omicron.tallies add constraint tallies_metric_check
  check (metric in ('sessions_ended', 'recordings', 'freezes', 'hibernations'));
