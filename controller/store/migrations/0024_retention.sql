-- The highest epochs of sessions whose rows were removed, by a digest of user and conversation: 4,096 rows at most, and no names. The
-- next session of a conversation begins above: the epoch that a platform sees for it never falls.
create table omicron.epoch_floors (
  place integer primary key,
  epoch integer not null
);
-- Runners that had no lease and are gone, for their removal.
create index runners_unleased_gone on omicron.runners (gone_at) where state = 'gone' and session_id is null;
