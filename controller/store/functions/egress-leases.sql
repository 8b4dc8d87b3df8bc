-- The leases that these runners hold now: redeemed, current, unexpired. One answer a runner, in their order; null: none.
create or replace function omicron.live_leases(p_runners uuid[]) returns setof jsonb
language sql stable as $$
  select case when s.id is not null then
           jsonb_build_object('session_id', s.id, 'epoch', s.epoch, 'runner_id', r.id,
             'remaining_ms', floor(extract(epoch from s.expires_at - clock_timestamp()) * 1000))
           || omicron.policy_of(s.id, s.user_id) end
    from unnest(p_runners) with ordinality asked(id, place)
    left join omicron.runners r on r.id = asked.id and r.state = 'leased'
    left join omicron.browser_sessions s on s.id = r.session_id and s.epoch = r.epoch and s.runner_id = r.id
          and s.status in ('starting', 'ready') and s.expires_at > clock_timestamp()
   order by asked.place
$$;

-- The leases whose videos and files these runners' uploaders may still send: until a day after the lease's end, as its artifact
-- token. One answer a runner, in their order; null: none.
create or replace function omicron.awaited_uploads(p_runners uuid[]) returns setof jsonb
language sql stable as $$
  select case when r.id is not null then
           jsonb_build_object('session_id', r.session_id, 'epoch', r.epoch, 'runner_id', r.id,
             'remaining_ms', floor(extract(epoch from
               coalesce(r.draining_at, clock_timestamp()) + interval '1 day' - clock_timestamp()) * 1000)) end
    from unnest(p_runners) with ordinality asked(id, place)
    left join omicron.runners r on r.id = asked.id and r.redeemed_at is not null and r.state in ('leased', 'draining')
          and coalesce(r.draining_at, clock_timestamp()) + interval '1 day' > clock_timestamp()
   order by asked.place
$$;
