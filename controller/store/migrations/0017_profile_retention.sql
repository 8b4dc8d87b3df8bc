-- A profile that no lease has used for long is deleted.
create index profiles_by_use on omicron.profiles (last_used_at);
