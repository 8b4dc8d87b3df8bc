-- A question whether a credential may be used on a site: its key, the host, and what is stored with it for good.
alter table omicron.user_actions add column credential jsonb;
