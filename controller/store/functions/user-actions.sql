-- An agent's request to its user (A10), and the answer. Null: this runner's lease is over. Repeating it answers how it stands; a runner
-- that waits repeats it each 20 s.
create or replace function omicron.ask_user(p_session uuid, p_epoch integer, p_runner uuid, p_id uuid, p_reason text, p_seconds integer, p_credential jsonb default null)
returns omicron.user_actions language plpgsql as $$
declare
  a omicron.user_actions;
begin
  a := omicron.user_action(p_session, p_id);
  if a.id is not null then
    return a;
  end if;
  if (select omicron.live_leases(array[p_runner])) ->> 'epoch' is distinct from p_epoch::text then
    return null;
  end if;
  insert into omicron.user_actions (id, session_id, epoch, reason, expires_at, credential)
    values (p_id, p_session, p_epoch, p_reason, clock_timestamp() + make_interval(secs => p_seconds), p_credential)
  on conflict (id) do nothing;
  if found then
    perform omicron.write_event(p_session, p_epoch, 'user_action.requested', jsonb_build_object('id', p_id, 'reason', p_reason));
  end if;
  return omicron.user_action(p_session, p_id);
end $$;

-- One user action as it stands; one whose time is over, or whose lease has ended, is expired.
create or replace function omicron.user_action(p_session uuid, p_id uuid) returns omicron.user_actions
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

-- Those of these user actions for which no agent waits any more, by the rule of `user_action`.
create or replace function omicron.closed_user_actions(p_actions uuid[]) returns setof uuid
language sql stable as $$
  select asked.id from unnest(p_actions) asked(id)
   where not exists (select from omicron.user_actions u join omicron.browser_sessions s on s.id = u.session_id and s.epoch = u.epoch
                      where u.id = asked.id and u.status = 'pending' and u.expires_at > now() and s.status in ('starting', 'ready'))
$$;

-- The first answer counts. `p_by` has the person: `viewer`, `identity`; controllers of 0.1.0 know no person. Null: there is no such user action.
create or replace function omicron.answer_user_action(p_session uuid, p_id uuid, p_status text, p_note text, p_by jsonb default null)
returns omicron.user_actions language plpgsql as $$
declare
  a omicron.user_actions;
begin
  a := omicron.user_action(p_session, p_id);
  update omicron.user_actions set status = p_status, note = p_note, answered_at = clock_timestamp(), answered_by = p_by
   where id = a.id and status = 'pending' returning * into a;
  if found then
    perform omicron.write_event(a.session_id, a.epoch, 'user_action.answered', jsonb_build_object('id', a.id, 'status', a.status) || coalesce(p_by, '{}'));
    return a;
  end if;
  return omicron.user_action(p_session, p_id);
end $$;
