-- The point of truth: until this answers `redeemed` a runner holds no lease. Once for a claim, and the same again for the process
-- that redeemed it: its answer may have been lost, and it alone knows `p_key` (null: it can't ask again).
--   {outcome: redeemed, user_id, remaining_ms, now_ms} | {outcome: wait} | {outcome: refused, why}
create or replace function omicron.redeem(
  p_session uuid, p_epoch integer, p_claim uuid, p_runner uuid, p_boot uuid, p_token_expires timestamptz, p_key uuid
) returns jsonb language plpgsql as $$
declare
  s omicron.browser_sessions;
  r omicron.runners;
  v_now timestamptz;
  v_why text;
  v_again boolean;
begin
  select * into s from omicron.browser_sessions where id = p_session for update;
  select * into r from omicron.runners where id = p_runner for update;
  v_now := clock_timestamp();
  v_again := coalesce(r.state = 'leased' and r.redemption_key = p_key, false);
  v_why := case
    when s.id is null or r.id is null then 'unknown'
    when p_token_expires <= v_now then 'token expired'
    when s.epoch <> p_epoch or s.claim_id is distinct from p_claim then 'superseded'
    when s.status <> 'starting' and not (v_again and s.status = 'ready') then 'not starting'
    when s.expires_at <= v_now then 'lease expired'
    when r.session_id is distinct from s.id or r.epoch is distinct from s.epoch or s.runner_id <> r.id then 'other runner'
    when r.boot_id is distinct from p_boot then 'other boot'
    when r.state <> 'claimed' and not v_again then 'already redeemed'
  end;
  if v_why is not null then
    return jsonb_build_object('outcome', 'refused', 'why', v_why);
  end if;
  if not v_again then
    if omicron.may_act(s.id, p_epoch - 1) then
      return jsonb_build_object('outcome', 'wait');
    end if;
    if s.options ? 'profile' and not omicron.open_profile(s, r.id) then
      return jsonb_build_object('outcome', 'wait');
    end if;
  end if;
  update omicron.runners
     set state = 'leased', redemption_key = p_key, redeemed_at = coalesce(redeemed_at, v_now), seen_at = v_now,
         deadline_at = greatest(deadline_at, s.expires_at)
   where id = r.id;
  return jsonb_build_object('outcome', 'redeemed', 'user_id', s.user_id, 'restores', s.hibernated_until is not null,
    'remaining_ms', floor(extract(epoch from s.expires_at - v_now) * 1000),
    'ends_in_seconds', ceil(extract(epoch from s.ends_at - v_now)),
    'now_ms', floor(extract(epoch from v_now) * 1000));
end $$;
