-- The person who answered a user action: their name and their identity among people.
alter table omicron.user_actions add column answered_by jsonb;
