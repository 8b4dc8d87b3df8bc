-- Artifacts past their days, oldest first; pages have days of their own. The columns are times in UTC: for the times themselves the planner
-- would take `artifacts_created_at`, which has the artifacts that have expired too.
drop index omicron.artifacts_stored;
create index artifacts_stored on omicron.artifacts ((created_at at time zone 'UTC'), id) where state = 'stored' and kind <> 'page';
create index artifacts_stored_pages on omicron.artifacts ((created_at at time zone 'UTC'), id) where state = 'stored' and kind = 'page';
drop index omicron.artifacts_due;
create index artifacts_due on omicron.artifacts ((due_at at time zone 'UTC'), id) where state = 'stored' and due_at is not null;
