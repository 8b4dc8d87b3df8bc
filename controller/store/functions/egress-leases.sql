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

-- All runners that hold a lease or whose uploads are awaited, as `live_leases` and `awaited_uploads` answer for one: a proxy watches thousands, and
-- one pass over those that live takes a twentieth of the time. Null: the browser, or the uploader, holds nothing.
create or replace function omicron.held_leases()
returns table (runner_id uuid, session_id uuid, epoch integer, policy_version text, lease_ms float8, upload_ms float8)
language sql stable as $$
  select r.id, r.session_id, r.epoch,
         case when s.id is not null then omicron.policy_version(d.version, u.version, l.version, s.options ? 'policy') end,
         floor(date_part('epoch', s.expires_at - now()) * 1000),
         case when r.redeemed_at is not null then floor(date_part('epoch', coalesce(r.draining_at - now(), '0') + interval '1 day') * 1000) end
    from omicron.runners r
    left join omicron.browser_sessions s on r.state = 'leased' and s.id = r.session_id and s.epoch = r.epoch and s.runner_id = r.id
         and s.status in ('starting', 'ready') and s.expires_at > now()
    left join omicron.policies d on d.layer = 'deployment' and d.subject = ''
    left join omicron.policies u on u.layer = 'user' and u.subject = s.user_id
    left join omicron.policies l on l.layer = 'session' and l.subject = s.id::text
   where r.state in ('leased', 'draining') and r.session_id is not null
$$;
