-- Each change of a session's status writes to the indexes of the table: to that of the tags only where a session has some.
drop index omicron.browser_sessions_tags;
create index browser_sessions_tags on omicron.browser_sessions using gin (tags jsonb_path_ops) where tags <> '{}';

-- The next warm runner is the first of its template in the index, however many are warm.
drop index omicron.runners_warm;
create index runners_warm on omicron.runners (provider, template, warm_at) where state = 'warm';

-- `browser_sessions_by_profile` begins with the user, of the same sessions.
drop index omicron.browser_sessions_live_by_user;
