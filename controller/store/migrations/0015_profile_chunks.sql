-- Complete profiles: the browser's files, cut into encrypted chunks that the versions of one profile share.

-- Whose an object is, and what it takes: the quota counts each object once.
alter table omicron.profile_objects add column profile_id uuid, add column bytes bigint not null default 0;
update omicron.profile_objects o set profile_id = v.profile_id, bytes = v.bytes
  from omicron.profile_versions v where v.object = o.name;
create index profile_objects_by_profile on omicron.profile_objects (profile_id);

alter table omicron.profile_versions add column form text not null default 'light' check (form in ('light', 'complete'));

-- Which chunks a version names. No chunk's row, and so no chunk, goes while one does.
create table omicron.profile_version_chunks (
  profile_id uuid not null,
  version    integer not null,
  object     text not null references omicron.profile_objects (name),
  primary key (profile_id, version, object),
  foreign key (profile_id, version) references omicron.profile_versions (profile_id, version) on delete cascade
);
create index profile_version_chunks_by_object on omicron.profile_version_chunks (object);
