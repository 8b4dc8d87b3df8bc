-- Stores or replaces one layer's document under a new version.
create or replace function omicron.put_policy(p_layer text, p_subject text, p_document jsonb) returns void
language sql as $$
  insert into omicron.policies (layer, subject, document) values (p_layer, p_subject, p_document)
  on conflict (layer, subject) do update
    set document = excluded.document, version = nextval('omicron.policy_versions'), updated_at = clock_timestamp()
$$;

-- The version of the layers that apply to one session, each by the version of its document; it changes with any of them. Null: a layer without a document.
create or replace function omicron.policy_version(p_deployment bigint, p_user bigint, p_session bigint, p_presets boolean) returns text
language sql stable as $$
  select coalesce(nullif(concat_ws('.', 'd' || p_deployment, 's' || p_session, case when p_presets then 'sp' end, 'u' || p_user), ''), '0')
$$;

-- {version, layers: [{layer, policy}]} of one session, widest layer first, the presets of its lease last. Every start and every report reads it:
-- PL/pgSQL plans a statement once per connection, SQL at each call.
create or replace function omicron.policy_of(p_session uuid, p_user text) returns jsonb
language plpgsql stable as $$
begin
  return (
    select jsonb_build_object(
      'version', omicron.policy_version(max(version) filter (where layer = 'deployment'), max(version) filter (where layer = 'user'),
                                        max(version) filter (where layer = 'session'), count(*) > count(version)),
      'layers', coalesce(jsonb_agg(jsonb_build_object('layer', layer, 'policy', document)
                                   order by array_position(array['deployment', 'user', 'session'], layer), version), '[]'))
      from (
        select layer, document, version from omicron.policies
         where (layer, subject) in (('deployment', ''), ('user', p_user), ('session', p_session::text))
        union all
        select 'session', options -> 'policy', null from omicron.browser_sessions
         where id = p_session and options ? 'policy') l);
end $$;
