-- Whether a start may go on: for `p_start_seconds` from its claim, or from the launch of its runner. A start whose runner is still in the
-- queue to be launched may go on, too.
create or replace function omicron.may_start(s omicron.browser_sessions, p_start_seconds integer) returns boolean
language sql as $$
  select s.starting_since > clock_timestamp() - make_interval(secs => p_start_seconds)
      or exists (select from omicron.runners r
                  where r.id = s.runner_id and r.epoch = s.epoch and r.state in ('creating', 'claimed', 'leased')
                    and coalesce(r.launched_at > clock_timestamp() - make_interval(secs => p_start_seconds), r.state = 'creating'))
$$;

-- A live claimer keeps its claim. False: the claim was taken over, or is too old to be kept.
create or replace function omicron.beat_claim(p_session uuid, p_epoch integer, p_claim uuid, p_claim_seconds integer, p_start_seconds integer)
returns boolean language plpgsql as $$
begin
  perform from omicron.browser_sessions where id = p_session for update;
  return (select kept from omicron.beat_claims(array[p_session], array[p_epoch], array[p_claim], p_claim_seconds, p_start_seconds));
end $$;

-- The same for many claims in one statement. A row that another one holds is passed over, and its claim is not among the answers.
create or replace function omicron.beat_claims(p_sessions uuid[], p_epochs integer[], p_claims uuid[], p_claim_seconds integer,
    p_start_seconds integer) returns table (claim uuid, kept boolean)
language sql as $$
  with given as (select * from unnest(p_sessions, p_epochs, p_claims) as g (session, epoch, claim)),
  held as (
    select s.id, g.claim from given g
      join omicron.browser_sessions s on s.id = g.session and s.epoch = g.epoch and s.claim_id = g.claim
     where s.status = 'starting' and s.expires_at > clock_timestamp() and omicron.may_start(s, p_start_seconds)
       for update of s skip locked),
  beaten as (
    update omicron.browser_sessions s
       set claim_until = clock_timestamp() + make_interval(secs => p_claim_seconds),
           expires_at = least(greatest(s.expires_at, clock_timestamp() + make_interval(secs => p_claim_seconds)), s.ends_at)
      from held where s.id = held.id returning held.claim)
  select beaten.claim, true from beaten
  union all
  select g.claim, false from given g
   where not exists (
     select from omicron.browser_sessions s
      where s.id = g.session and s.epoch = g.epoch and s.claim_id = g.claim and s.status = 'starting'
        and s.expires_at > clock_timestamp() and omicron.may_start(s, p_start_seconds))
$$;

-- Called before an assignment is sent to a runner that came up after the claim; repeating it answers the same. Null:
-- it must not be sent.
create or replace function omicron.begin_assignment(p_session uuid, p_epoch integer, p_claim uuid) returns jsonb
language plpgsql as $$
declare
  s omicron.browser_sessions;
  r omicron.runners;
begin
  select * into s from omicron.browser_sessions where id = p_session for update;
  if s.status is distinct from 'starting' or s.epoch <> p_epoch or s.claim_id <> p_claim then
    return null;
  end if;
  update omicron.runners set assigned_at = coalesce(assigned_at, clock_timestamp())
   where id = s.runner_id and epoch = p_epoch and state = 'claimed' returning * into r;
  return case when found then to_jsonb(r) end;
end $$;

-- The claimer gives up: its start failed for a reason that a new runner would not change. False: the claim was over.
create or replace function omicron.fail_claim(p_session uuid, p_epoch integer, p_claim uuid, p_reason text, p_error text) returns boolean
language plpgsql as $$
declare
  s omicron.browser_sessions;
begin
  select * into s from omicron.browser_sessions where id = p_session for update;
  if s.status is distinct from 'starting' or s.epoch <> p_epoch or s.claim_id is distinct from p_claim then
    return false;
  end if;
  perform omicron.close_lease(s, 'error', p_reason, p_error);
  return true;
end $$;
