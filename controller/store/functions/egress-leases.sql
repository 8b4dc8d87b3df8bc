-- The lease that a runner holds now: redeemed, current, unexpired. Null: none.
create or replace function omicron.live_lease(p_runner uuid) returns jsonb
language sql stable as $$
  select jsonb_build_object('session_id', s.id, 'epoch', s.epoch, 'runner_id', r.id,
           'remaining_ms', floor(extract(epoch from s.expires_at - clock_timestamp()) * 1000))
         || omicron.policy_of(s.id, s.user_id)
    from omicron.runners r
    join omicron.browser_sessions s on s.id = r.session_id and s.epoch = r.epoch and s.runner_id = r.id
   where r.id = p_runner and r.state = 'leased' and s.status in ('starting', 'ready') and s.expires_at > clock_timestamp()
$$;

-- The lease whose videos and files a runner's uploader may still send: until a day after the lease's end, as its artifact
-- token. Null: none.
create or replace function omicron.awaited_upload(p_runner uuid) returns jsonb
language sql stable as $$
  select jsonb_build_object('session_id', r.session_id, 'epoch', r.epoch, 'runner_id', r.id,
           'remaining_ms', floor(extract(epoch from
             coalesce(r.draining_at, clock_timestamp()) + interval '1 day' - clock_timestamp()) * 1000))
    from omicron.runners r
   where r.id = p_runner and r.redeemed_at is not null and r.state in ('leased', 'draining')
     and coalesce(r.draining_at, clock_timestamp()) + interval '1 day' > clock_timestamp()
$$;
