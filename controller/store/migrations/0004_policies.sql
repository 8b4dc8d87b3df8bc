-- What sessions may do, in layers: one document for the deployment, one a user, one a session. Versions come from one
-- sequence, so that a document that was deleted and stored again never looks unchanged.
create sequence omicron.policy_versions;
create table omicron.policies (
  layer      text not null check (layer in ('deployment', 'user', 'session')),
  -- user id or session id; empty for the deployment
  subject    text not null default '' check ((layer = 'deployment') = (subject = '')),
  document   jsonb not null,
  version    bigint not null default nextval('omicron.policy_versions'),
  updated_at timestamptz not null default clock_timestamp(),
  primary key (layer, subject)
);

create function omicron.put_policy(p_layer text, p_subject text, p_document jsonb) returns void
language sql as $$
  insert into omicron.policies (layer, subject, document) values (p_layer, p_subject, p_document)
  on conflict (layer, subject) do update
    set document = excluded.document, version = nextval('omicron.policy_versions'), updated_at = clock_timestamp()
$$;

-- {version, layers: [{layer, policy}]} of one session, widest layer first.
create function omicron.policy_of(p_session uuid, p_user text) returns jsonb
language sql stable as $$
  select jsonb_build_object(
    'version', coalesce(string_agg(left(layer, 1) || version, '.' order by layer), '0'),
    'layers', coalesce(jsonb_agg(jsonb_build_object('layer', layer, 'policy', document)
                                 order by array_position(array['deployment', 'user', 'session'], layer)), '[]'))
    from omicron.policies
   where (layer, subject) in (('deployment', ''), ('user', p_user), ('session', p_session::text))
$$;

-- The lease that a runner holds now: redeemed, current, unexpired. Null: none.
create function omicron.live_lease(p_runner uuid) returns jsonb
language sql stable as $$
  select jsonb_build_object('session_id', s.id, 'epoch', s.epoch, 'runner_id', r.id,
           'remaining_ms', floor(extract(epoch from s.expires_at - clock_timestamp()) * 1000))
         || omicron.policy_of(s.id, s.user_id)
    from omicron.runners r
    join omicron.browser_sessions s on s.id = r.session_id and s.epoch = r.epoch and s.runner_id = r.id
   where r.id = p_runner and r.state = 'leased' and s.status in ('starting', 'ready') and s.expires_at > clock_timestamp()
$$;

-- Denials at the egress proxy, into the timelines of who was denied; leases that are over included.
create function omicron.write_denials(p_events jsonb) returns void
language sql as $$
  insert into omicron.session_events (event_id, session_id, epoch, at, kind, data)
  select e.id, e.session_id, e.epoch, clock_timestamp() - make_interval(secs => e.age_ms / 1000), 'egress.denied',
         jsonb_strip_nulls(jsonb_build_object('code', e.code, 'method', e.method, 'host', e.host, 'port', e.port,
           'address_class', e.address_class, 'rule', e.rule, 'layer', e.layer, 'count', e.count))
    from jsonb_to_recordset(p_events) as e(id uuid, session_id uuid, epoch integer, runner_id uuid, code text, method text,
           host text, port integer, address_class text, rule text, layer text, count integer, age_ms double precision)
   where omicron.held_lease(e.session_id, e.epoch, e.runner_id)
  on conflict (event_id) do nothing
$$;

-- A10: what an agent asks of its person, and the answer.
create table omicron.user_actions (
  id          uuid primary key,
  session_id  uuid not null references omicron.browser_sessions (id),
  epoch       integer not null,
  reason      text not null,
  status      text not null default 'pending' check (status in ('pending', 'done', 'declined', 'expired')),
  note        text,
  created_at  timestamptz not null default clock_timestamp(),
  expires_at  timestamptz not null,
  answered_at timestamptz
);
create index user_actions_by_session on omicron.user_actions (session_id, created_at);

-- Null: this runner's lease is over. Repeating it changes nothing.
create function omicron.ask_user(p_session uuid, p_epoch integer, p_runner uuid, p_id uuid, p_reason text, p_seconds integer)
returns omicron.user_actions language plpgsql as $$
declare
  a omicron.user_actions;
begin
  if omicron.live_lease(p_runner) ->> 'epoch' is distinct from p_epoch::text then
    return null;
  end if;
  insert into omicron.user_actions (id, session_id, epoch, reason, expires_at)
    values (p_id, p_session, p_epoch, p_reason, clock_timestamp() + make_interval(secs => p_seconds))
  on conflict (id) do nothing;
  if found then
    perform omicron.write_event(p_session, p_epoch, 'user_action.requested', jsonb_build_object('id', p_id, 'reason', p_reason));
  end if;
  select * into a from omicron.user_actions where id = p_id and session_id = p_session;
  return a;
end $$;

-- The request as it stands; one whose time is over, or whose lease has ended, is expired.
create function omicron.user_action(p_session uuid, p_id uuid) returns omicron.user_actions
language plpgsql as $$
declare
  a omicron.user_actions;
begin
  update omicron.user_actions u set status = 'expired', answered_at = clock_timestamp()
   where u.id = p_id and u.session_id = p_session and u.status = 'pending'
     and (u.expires_at <= clock_timestamp()
       or not exists (select from omicron.browser_sessions s
                       where s.id = u.session_id and s.epoch = u.epoch and s.status in ('starting', 'ready')));
  select * into a from omicron.user_actions where id = p_id and session_id = p_session;
  return a;
end $$;

-- The first answer counts. Null: there is no such request.
create function omicron.answer_user_action(p_session uuid, p_id uuid, p_status text, p_note text) returns omicron.user_actions
language plpgsql as $$
declare
  a omicron.user_actions;
begin
  a := omicron.user_action(p_session, p_id);
  update omicron.user_actions set status = p_status, note = p_note, answered_at = clock_timestamp()
   where id = a.id and status = 'pending' returning * into a;
  if found then
    perform omicron.write_event(a.session_id, a.epoch, 'user_action.answered', jsonb_build_object('id', a.id, 'status', a.status));
    return a;
  end if;
  return omicron.user_action(p_session, p_id);
end $$;
