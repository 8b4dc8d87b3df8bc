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
