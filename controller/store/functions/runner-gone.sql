-- The runner acknowledged its drain: it serves no agent any more. Whether that ends the wait of those who ended its epoch: no runner of an
-- earlier one may act either.
create or replace function omicron.drain_acknowledged(p_runner uuid) returns boolean
language plpgsql as $$
declare
  r omicron.runners;
begin
  update omicron.runners set acknowledged_at = coalesce(acknowledged_at, clock_timestamp())
   where id = p_runner and state = 'draining' returning * into r;
  return r.session_id is not null and not omicron.may_act(r.session_id, r.epoch);
end $$;

-- Its process and its files are removed: the permit is free. A recorded lease that left no video gets a recorded
-- loss.
create or replace function omicron.runner_gone(p_runner uuid) returns void
language plpgsql as $$
declare
  r omicron.runners;
begin
  update omicron.runners set state = 'gone', gone_at = clock_timestamp(), acknowledged_at = coalesce(acknowledged_at, clock_timestamp())
   where id = p_runner and state = 'draining' returning * into r;
  if not found then
    return;
  end if;
  update omicron.permits set runner_id = null where runner_id = p_runner;
  if r.redeemed_at is not null then
    insert into omicron.artifacts (session_id, epoch, runner_id, name, state, reason)
    select r.session_id, r.epoch, r.id, 'recording', 'lost', 'The runner ended and left no recording.'
     where r.recorded and not exists (select from omicron.artifacts where runner_id = r.id and kind = 'video');
    perform omicron.write_event(r.session_id, r.epoch, 'runner.gone', jsonb_build_object('runner_id', r.id, 'reason', r.reason));
  end if;
end $$;
