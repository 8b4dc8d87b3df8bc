-- Profiles. The lease is the writer's lock: acquire admits one live read-write lease a profile, a redemption makes its
-- runner the writer, and a save is a compare-and-set on the version by the writer alone.

-- The live lease that holds a profile for writing, locked, so that no renewal of it is under way. `p_except`: not this
-- session's. The caller holds the user's lock.
create or replace function omicron.profile_holder(p_user text, p_name text, p_except uuid) returns omicron.browser_sessions
language plpgsql as $$
declare
  s omicron.browser_sessions;
begin
  for s in
    select * from omicron.browser_sessions
     where user_id = p_user and status in ('starting', 'ready') and options -> 'profile' ->> 'name' = p_name
       and options -> 'profile' ->> 'mode' = 'read-write' and id is distinct from p_except
     order by id for update
  loop
    if s.expires_at > clock_timestamp() then
      return s;
    end if;
  end loop;
  return null;
end $$;

create or replace function omicron.profile_in_use(s omicron.browser_sessions) returns jsonb
language sql as $$
  select jsonb_build_object('outcome', 'refused', 'code', 'profile_in_use', 'limit', 1, 'active', 1, 'holder', s.id,
    'retry_after_ms', ceil(extract(epoch from s.expires_at - clock_timestamp()) * 1000))
$$;

-- Whether a lease has another profile than these options name, or has it otherwise; none is one too.
create or replace function omicron.has_other_profile(s omicron.browser_sessions, p_options jsonb) returns boolean
language sql immutable as $$
  select (s.options -> 'profile' ->> 'name', s.options -> 'profile' ->> 'mode')
    is distinct from (p_options -> 'profile' ->> 'name', p_options -> 'profile' ->> 'mode')
$$;

-- Makes a profile where there is none and the user may have another one. Under the user's lock: deleting the last
-- profile deletes the key, and must not do so under one that is being made.
create or replace function omicron.make_profile(p_user text, p_name text) returns void
language plpgsql as $$
begin
  perform pg_advisory_xact_lock(hashtextextended('omicron.user:' || p_user, 0));
  insert into omicron.profiles (user_id, name)
    select p_user, p_name
     where (select count(*) from omicron.profiles where user_id = p_user and session_id is null) < 100 -- PROFILE_LIMITS.profilesMax
    on conflict (user_id, name) do nothing;
end $$;

-- Called by the claim of a lease, under the user's lock. Null: the lease may have this profile; else its refusal.
create or replace function omicron.claim_profile(p_user text, p_session uuid, p_profile jsonb) returns jsonb
language plpgsql as $$
declare
  s omicron.browser_sessions;
begin
  if p_profile ->> 'mode' = 'read-write' then
    s := omicron.profile_holder(p_user, p_profile ->> 'name', p_session);
    if s.id is not null then
      return omicron.profile_in_use(s);
    end if;
    perform omicron.make_profile(p_user, p_profile ->> 'name');
  end if;
  update omicron.profiles set last_used_at = clock_timestamp() where user_id = p_user and name = p_profile ->> 'name';
  if not found then
    return jsonb_build_object('outcome', 'refused', 'limit', 100, 'active', 0, 'retry_after_ms', 0, 'code',
      case when p_profile ->> 'mode' = 'read-write' then 'profile_quota_exceeded' else 'profile_not_found' end);
  end if;
  return null;
end $$;

-- Whether the writer of a profile may still save for the last time: its lease is over and its runner has not said that
-- it is done. Twenty seconds bound it: a runner exits within ten of its end.
create or replace function omicron.profile_closing(p omicron.profiles) returns boolean
language sql as $$
  select exists (select from omicron.runners r
                  where r.id = p.writer and r.state <> 'gone'
                    and coalesce(r.draining_at, r.deadline_at) > clock_timestamp() - interval '20 seconds'
                    and not exists (select from omicron.browser_sessions s
                                     where s.runner_id = r.id and s.epoch = r.epoch and s.status in ('starting', 'ready')
                                       and s.expires_at > clock_timestamp()))
$$;

-- Called by a redemption, which has locked session and runner. False: the lease before may still save; ask again.
create or replace function omicron.open_profile(s omicron.browser_sessions, p_runner uuid) returns boolean
language plpgsql as $$
declare
  p omicron.profiles;
begin
  select * into p from omicron.profiles
   where user_id = s.user_id and name = s.options -> 'profile' ->> 'name' for update;
  if omicron.profile_closing(p) then
    return false;
  end if;
  if s.options -> 'profile' ->> 'mode' = 'read-write' then
    update omicron.profiles set writer = p_runner where id = p.id;
  end if;
  return true;
end $$;

create or replace function omicron.profile_content(p omicron.profiles, p_version integer) returns jsonb
language sql as $$
  select jsonb_build_object('id', p.id, 'user_id', p.user_id, 'name', p.name, 'version', p_version, 'object', v.object,
           'form', v.form, 'digest', v.digest, 'wrapped', k.wrapped)
    from (select) as one
    left join omicron.profile_versions v on v.profile_id = p.id and v.version = p_version
    left join omicron.profile_keys k on k.user_id = p.user_id
$$;

-- The state with which a runner starts. Null: this runner does not hold that lease, or the lease has no profile.
create or replace function omicron.lease_profile(p_session uuid, p_epoch integer, p_runner uuid) returns jsonb
language sql as $$
  select omicron.profile_content(p, p.version)
    from omicron.browser_sessions s
    join omicron.profiles p on p.user_id = s.user_id and p.name = s.options -> 'profile' ->> 'name'
   where s.id = p_session and s.epoch = p_epoch and s.runner_id = p_runner
     and s.status in ('starting', 'ready') and omicron.held_lease(p_session, p_epoch, p_runner)
$$;

-- The profile that this runner may save, live or ending. Null: it may save none.
create or replace function omicron.written_profile(p_session uuid, p_epoch integer, p_runner uuid) returns jsonb
language sql as $$
  select omicron.profile_content(p, p.version)
    from omicron.profiles p join omicron.runners r on r.id = p.writer
   where p.session_id is null and r.id = p_runner and r.session_id = p_session and r.epoch = p_epoch and r.state in ('leased', 'draining')
$$;

-- Before the bytes of objects are written, a version's or chunks. Null: go on with all of them; else why with none. `p_bytes`: of
-- each. `p_runner` null: the platform writes, not a lease.
create or replace function omicron.begin_objects(p_profile uuid, p_base integer, p_runner uuid, p_objects text[], p_bytes bigint[],
  p_quota bigint) returns jsonb language plpgsql as $$
declare
  v_refusal jsonb;
  v_used bigint;
begin
  v_refusal := omicron.save_refusal(p_profile, p_base, p_runner);
  if v_refusal is not null then
    return v_refusal;
  end if;
  select coalesce(sum(o.bytes), 0) into v_used
    from omicron.profiles p
    join omicron.profiles other on other.user_id = p.user_id
    join omicron.profile_objects o on o.profile_id = other.id
   where p.id = p_profile
     -- what a save that came to no end wrote is not counted for long
     and (o.state = 'kept' or (o.state = 'writing' and o.since > clock_timestamp() - interval '1 minute'));
  if v_used + (select sum(bytes) from unnest(p_bytes) as bytes) > p_quota then
    return jsonb_build_object('outcome', 'refused', 'code', 'profile_quota_exceeded', 'active', v_used, 'limit', p_quota);
  end if;
  insert into omicron.profile_objects (name, profile_id, bytes)
    select object, p_profile, bytes from unnest(p_objects, p_bytes) as written (object, bytes);
  return null;
end $$;

-- Why this version may not be written over; null: it may. Locks the profile. A platform may write while no lease does.
create or replace function omicron.save_refusal(p_profile uuid, p_base integer, p_runner uuid) returns jsonb
language plpgsql as $$
declare
  p omicron.profiles;
  s omicron.browser_sessions;
begin
  if p_runner is null then
    select * into p from omicron.profiles where id = p_profile;
    if found then
      perform pg_advisory_xact_lock(hashtextextended('omicron.user:' || p.user_id, 0));
      s := omicron.profile_holder(p.user_id, p.name, null);
      if s.id is not null then
        return omicron.profile_in_use(s);
      end if;
    end if;
  end if;
  select * into p from omicron.profiles where id = p_profile for update;
  if not found then
    return jsonb_build_object('outcome', 'refused', 'code', 'profile_not_found');
  end if;
  if p_runner is null and omicron.profile_closing(p) then
    return jsonb_build_object('outcome', 'refused', 'code', 'profile_in_use', 'retry_after_ms', 1000);
  end if;
  if p_runner is not null and (p.writer is distinct from p_runner
     or not exists (select from omicron.runners where id = p_runner and state in ('leased', 'draining'))) then
    return jsonb_build_object('outcome', 'refused', 'code', 'lease_superseded');
  end if;
  if p.version <> p_base then
    return jsonb_build_object('outcome', 'refused', 'code', 'profile_changed', 'version', p.version);
  end if;
  return null;
end $$;

-- After the bytes were written and read back: moves the head. Null: saved; else why not, and what was written goes. `p_chunks`: what
-- the version names beside its object, written for it or kept by the version before.
create or replace function omicron.commit_save(p_profile uuid, p_base integer, p_runner uuid, p_object text, p_form text,
  p_digest text, p_bytes bigint, p_chunks text[], p_domains jsonb, p_versions integer) returns jsonb
language plpgsql as $$
declare
  v_refusal jsonb;
  v_names text[] := p_chunks || p_object;
  v_there integer;
  r omicron.runners;
begin
  v_refusal := omicron.save_refusal(p_profile, p_base, p_runner);
  if v_refusal is not null then
    update omicron.profile_objects set state = 'removing' where name = any (v_names) and profile_id = p_profile and state = 'writing';
    return v_refusal;
  end if;
  perform from omicron.profile_objects where name = any (v_names) order by name for update;
  select count(*) into v_there from omicron.profile_objects
   where name = any (v_names) and profile_id = p_profile and state in ('writing', 'kept');
  if v_there < cardinality(v_names) then -- the sweep removed one meanwhile
    return jsonb_build_object('outcome', 'refused', 'code', 'profile_unavailable');
  end if;
  update omicron.profile_objects set state = 'kept', since = clock_timestamp() where name = any (v_names) and state = 'writing';
  select * into r from omicron.runners where id = p_runner;
  insert into omicron.profile_versions (profile_id, version, object, form, digest, bytes, domains, session_id, epoch)
    values (p_profile, p_base + 1, p_object, p_form, p_digest,
      p_bytes + (select coalesce(sum(bytes), 0) from omicron.profile_objects where name = any (p_chunks)),
      p_domains, r.session_id, r.epoch);
  insert into omicron.profile_version_chunks (profile_id, version, object) select p_profile, p_base + 1, unnest(p_chunks);
  update omicron.profiles set version = p_base + 1 where id = p_profile;
  perform omicron.drop_versions(p_profile, p_base + 1 - p_versions);
  if r.id is not null then
    perform omicron.write_event(r.session_id, r.epoch, 'profile.saved',
      jsonb_build_object('name', p.name, 'version', p_base + 1, 'bytes', p_bytes))
      from omicron.profiles p where p.id = p_profile and p.session_id is null;
  end if;
  return null;
end $$;

-- The versions up to this one are removed; by the sweep their objects, and the chunks that no other version names.
create or replace function omicron.drop_versions(p_profile uuid, p_last integer) returns void
language plpgsql as $$
declare
  v_names text[];
begin
  select array_agg(object) into v_names from (
    select object from omicron.profile_versions where profile_id = p_profile and version <= p_last
    union select object from omicron.profile_version_chunks where profile_id = p_profile and version <= p_last) as named;
  delete from omicron.profile_versions where profile_id = p_profile and version <= p_last;
  update omicron.profile_objects o set state = 'removing', since = clock_timestamp()
   where o.name = any (v_names) and not exists (select from omicron.profile_version_chunks c where c.object = o.name);
end $$;

-- The profile that this runner holds, where its current version names all of these chunks; else null.
create or replace function omicron.lease_chunks(p_session uuid, p_epoch integer, p_runner uuid, p_objects text[]) returns jsonb
language sql as $$
  select content from (select omicron.lease_profile(p_session, p_epoch, p_runner)) as lease (content)
   where p_objects <@ array(select object from omicron.profile_version_chunks
                             where profile_id = (content ->> 'id')::uuid and version = (content ->> 'version')::integer)
$$;

-- The runner has saved for the last time, or cannot.
create or replace function omicron.release_profile(p_session uuid, p_epoch integer, p_runner uuid) returns void
language sql as $$
  update omicron.profiles p set writer = null from omicron.runners r
   where p.writer = r.id and r.id = p_runner and r.session_id = p_session and r.epoch = p_epoch
$$;

-- With the last profile of a user goes the key, and with it all that a backup of the store may still hold. A user who is asking for a
-- browser right now is left to the next round.
create or replace function omicron.drop_unused_key(p_user text) returns void
language plpgsql as $$
begin
  if pg_try_advisory_xact_lock(hashtextextended('omicron.user:' || p_user, 0)) then
    delete from omicron.profile_keys where user_id = p_user
      and not exists (select from omicron.profiles where user_id = p_user);
  end if;
end $$;

-- {outcome: deleted | not_found} or the refusal.
create or replace function omicron.delete_profile(p_user text, p_name text) returns jsonb
language plpgsql as $$
declare
  p omicron.profiles;
  v_refusal jsonb;
begin
  select * into p from omicron.profiles where user_id = p_user and name = p_name;
  if not found then
    return jsonb_build_object('outcome', 'not_found');
  end if;
  v_refusal := omicron.save_refusal(p.id, p.version, null);
  if v_refusal is not null then
    return v_refusal;
  end if;
  perform omicron.drop_versions(p.id, p.version);
  delete from omicron.profiles where id = p.id;
  perform omicron.drop_unused_key(p_user);
  return jsonb_build_object('outcome', 'deleted');
end $$;

-- Objects to remove from the store: those of dropped versions, and those of saves that came to no end. From here on no
-- commit can keep them.
create or replace function omicron.loose_objects(p_most integer, p_stale_seconds integer) returns setof text
language sql as $$
  update omicron.profile_objects set state = 'removing'
   where name in (select name from omicron.profile_objects
                   where state = 'removing'
                      or (state = 'writing' and since < (select clock_timestamp()) - make_interval(secs => p_stale_seconds))
                   order by since limit p_most for update skip locked)
  returning name
$$;
