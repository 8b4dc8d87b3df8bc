-- Files go with their session unless its lease keeps them: from `due_at` on their objects are removed. Null: not decided yet; infinity: kept.
alter table omicron.artifacts add column due_at timestamptz;
create index artifacts_due on omicron.artifacts (due_at) where state = 'stored' and due_at is not null;
