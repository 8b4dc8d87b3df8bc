-- Supabase Vault: the extension where the server has it (TEST_POSTGRES_URL names one), else as its documentation describes it:
-- <https://supabase.com/docs/guides/database/vault>, with what is stored encoded, not encrypted. None of apt, npm, PyPI and cargo has the
-- extension. Roles are the server's, so another test may have made them.
do $roles$
declare
  name text;
begin
  foreach name in array array['anon', 'authenticated', 'service_role'] loop
    begin
      execute format('create role %I nologin noinherit', name);
    exception when duplicate_object or unique_violation then null;
    end;
  end loop;
end $roles$;

do $vault$
begin
  if exists (select from pg_available_extensions where name = 'supabase_vault') then
    create extension supabase_vault;
    -- as Supabase grants it
    grant usage on schema vault to service_role;
    grant select, delete on vault.secrets, vault.decrypted_secrets to service_role;
    grant execute on function vault.create_secret, vault.update_secret, vault._crypto_aead_det_decrypt to service_role;
  else
    create schema vault;
    create table vault.secrets (
      id uuid primary key default gen_random_uuid(),
      name text,
      description text not null default '',
      secret text not null,
      key_id uuid,
      created_at timestamptz not null default now(),
      updated_at timestamptz not null default now()
    );
    create unique index secrets_name_idx on vault.secrets (name) where name is not null;
    create view vault.decrypted_secrets as
      select id, name, description, secret, convert_from(decode(secret, 'base64'), 'UTF8') as decrypted_secret, key_id, created_at, updated_at
        from vault.secrets;

    create function vault.create_secret(new_secret text, new_name text default null, new_description text default '', new_key_id uuid default null)
    returns uuid language sql security definer set search_path = '' as $$
      insert into vault.secrets (secret, name, description, key_id)
        values (encode(convert_to(new_secret, 'UTF8'), 'base64'), new_name, new_description, new_key_id) returning id
    $$;
    create function vault.update_secret(secret_id uuid, new_secret text default null, new_name text default null, new_description text default null, new_key_id uuid default null)
    returns void language sql security definer set search_path = '' as $$
      update vault.secrets
         set secret = coalesce(encode(convert_to(new_secret, 'UTF8'), 'base64'), secret), name = coalesce(new_name, name),
             description = coalesce(new_description, description), updated_at = now()
       where id = secret_id
    $$;
    revoke all on schema vault from public;
    revoke all on all tables in schema vault from public;
    revoke all on all functions in schema vault from public;
    grant usage on schema vault to service_role;
    grant select, delete on vault.secrets, vault.decrypted_secrets to service_role;
    grant execute on all functions in schema vault to service_role;
  end if;
end $vault$;
grant usage on schema public to anon, authenticated, service_role;
-- Supabase grants every new function of public to all roles
alter default privileges in schema public grant execute on functions to anon, authenticated, service_role;
