-- Whether a runner of one of the session's epochs up to this one may still act: until it is gone, has acknowledged its
-- drain, or has passed its deadline.
create or replace function omicron.may_act(p_session uuid, p_epoch integer) returns boolean
language sql as $$
  select exists (select from omicron.runners
                  where session_id = p_session and epoch <= p_epoch and redeemed_at is not null and state <> 'gone'
                    and acknowledged_at is null and deadline_at > clock_timestamp())
$$;
