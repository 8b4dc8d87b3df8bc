-- When a lease is looked at for its end. Reports and heartbeats move expires_at and leave this; the reaper moves it on once it has come. A search for
-- leases that are due so reads no other, whatever versions of their rows an open transaction keeps.
alter table omicron.browser_sessions add column due_at timestamptz not null default '-infinity';
create index browser_sessions_due on omicron.browser_sessions (due_at) where status in ('starting', 'ready', 'hibernated');
