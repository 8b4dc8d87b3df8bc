-- Kept pages of sessions are artifacts beside the videos.
alter table omicron.artifacts drop constraint artifacts_kind_check;
alter table omicron.artifacts add constraint artifacts_kind_check check (kind in ('video', 'file', 'page'));
