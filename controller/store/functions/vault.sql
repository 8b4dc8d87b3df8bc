-- depends on concat_ws(' ', to_regclass('vault.decrypted_secrets')::oid, to_regrole('service_role')::oid, to_regproc('public.get_vault_secret')::oid, has_schema_privilege(to_regnamespace('vault')::oid, 'usage'), has_schema_privilege('public', 'create'))
-- Supabase Vault, where it is switched on and this role may use it: read and change one user's document. Called over SQL, or over
-- PostgREST's rpc by the service role; no other role may execute these functions. A `public.get_vault_secret` is the platform's:
-- it is read by that one, which nothing here replaces, grants or revokes. <https://supabase.com/docs/guides/database/vault>
do $vault$
declare
  signature text;
  created text[] := array['public.omicron_change_vault_credential(text, text, jsonb)'];
begin
  if to_regclass('vault.decrypted_secrets') is null or not has_schema_privilege('vault', 'usage')
     or not has_schema_privilege('public', 'create') then
    return;
  end if;

  if to_regproc('public.get_vault_secret') is null then
    create or replace function public.omicron_get_vault_secret(secret_name text) returns text
    language sql stable security definer set search_path = '' as $$
      select decrypted_secret from vault.decrypted_secrets where name = secret_name
    $$;
    created := created || 'public.omicron_get_vault_secret(text)'::text;
  end if;

  -- Under a lock: two changes of one document at once must not lose one. A null credential removes the site.
  create or replace function public.omicron_change_vault_credential(secret_name text, site text, credential jsonb) returns boolean
  language plpgsql security definer set search_path = '' as $$
  declare
    v_id uuid;
    v_document jsonb;
  begin
    perform pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended('omicron.vault:' || secret_name, 0));
    select id, decrypted_secret::jsonb into v_id, v_document from vault.decrypted_secrets where name = secret_name;
    if credential is null then
      if v_document -> 'credentials' -> site is null then
        return false;
      end if;
      perform vault.update_secret(v_id, (v_document #- array['credentials', site])::text);
      return true;
    end if;
    if v_id is null then
      perform vault.create_secret(
        pg_catalog.jsonb_build_object('credentials', pg_catalog.jsonb_build_object(site, credential))::text, secret_name);
    else
      perform vault.update_secret(v_id, (v_document || pg_catalog.jsonb_build_object('credentials',
        coalesce(v_document -> 'credentials', '{}') || pg_catalog.jsonb_build_object(site, credential)))::text);
    end if;
    return true;
  end $$;

  foreach signature in array created loop
    execute format('revoke all on function %s from public', signature);
    if exists (select from pg_catalog.pg_roles where rolname = 'service_role') then
      execute format('revoke all on function %s from anon, authenticated', signature);
      execute format('grant execute on function %s to service_role', signature);
    end if;
  end loop;
end $vault$;
