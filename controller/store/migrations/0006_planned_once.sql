-- Every start and every report asks for it: PL/pgSQL plans a statement once per connection, SQL at each call.
create or replace function omicron.policy_of(p_session uuid, p_user text) returns jsonb
language plpgsql stable as $$
begin
  return (
    select jsonb_build_object(
      'version', coalesce(string_agg(left(layer, 1) || version, '.' order by layer), '0'),
      'layers', coalesce(jsonb_agg(jsonb_build_object('layer', layer, 'policy', document)
                                   order by array_position(array['deployment', 'user', 'session'], layer)), '[]'))
      from omicron.policies
     where (layer, subject) in (('deployment', ''), ('user', p_user), ('session', p_session::text)));
end $$;
