-- A runner died. `ended`: its process is known to have ended; `leaving`: it is stopping and may still act;
-- `not_started`: its launch was given up, which counts only while it is creating: another worker may have seen it
-- come up. Its lease, if it is live, becomes an error that says so; a new request starts a new epoch. A runner closes
-- by its own clock half a second before its lease's end: then the lease has expired, and nothing was lost.
-- 'lost' | 'expired' | 'leaving': what became of its lease. 'nothing': it had none. Null: it was claimed meanwhile, call again.
-- A runner that is leaving with a ready lease that asks for it has `p_grace_seconds` to hibernate it: 'leaving' until then.
create or replace function omicron.runner_lost(p_runner uuid, p_how text, p_reason text, p_error text, p_grace_seconds integer) returns text
language plpgsql as $$
declare
  s omicron.browser_sessions;
  r omicron.runners;
  v_outcome text := 'nothing';
begin
  select * into r from omicron.runners where id = p_runner;
  if r.session_id is not null then
    select * into s from omicron.browser_sessions where id = r.session_id for update;
  end if;
  select * into r from omicron.runners where id = p_runner for update;
  if r.id is null or r.state = 'gone' or (p_how = 'not_started' and r.state <> 'creating') then
    perform omicron.launch_over(p_runner);
    return v_outcome;
  end if;
  if r.session_id is distinct from s.id then -- claimed between the two reads; the session must be locked first
    return null;
  end if;
  if s.runner_id = r.id and s.epoch = r.epoch and s.status in ('starting', 'ready') then
    if s.status = 'ready' and s.expires_at <= clock_timestamp() + interval '1 second' then
      perform omicron.expire_lease(s);
      v_outcome := 'expired';
    elsif p_how = 'leaving' and s.status = 'ready' and p_grace_seconds > 0 and s.options ? 'hibernate'
       and coalesce(r.leaving_at, clock_timestamp()) > clock_timestamp() - make_interval(secs => p_grace_seconds) then
      update omicron.runners set leaving_at = coalesce(leaving_at, clock_timestamp()) where id = r.id;
      return 'leaving';
    else
      perform omicron.close_lease(s, 'error', p_reason, p_error);
      v_outcome := 'lost';
    end if;
  end if;
  perform omicron.drain_runner(r.id, p_reason || ': ' || p_error);
  -- the caller's work on it is done; and only an ended process certainly serves no agent
  update omicron.runners
     set work_until = '-infinity',
         acknowledged_at = case when p_how = 'ended' then coalesce(acknowledged_at, clock_timestamp()) else acknowledged_at end
   where id = r.id;
  return v_outcome;
end $$;
