import { RULES, type RuleName } from './rule-names.ts';

/** One line of the store taken out or turned round. The histories must find it: that shows that a rule can break. */
export interface Fault {
  readonly name: string;
  /** Name of the SQL function. */
  readonly function: string;
  readonly from: string;
  readonly to: string;
  /** The rules that may break first. */
  readonly rules: readonly RuleName[];
}

export const ruleTexts = ({ rules }: Fault): string[] => rules.map(rule => RULES[rule]);

const LOCK_AND_NO_SESSION = `select * into s from omicron.browser_sessions where id = p_session and user_id = coalesce(p_user, user_id) for update;
  if s.id is null then
    return jsonb_build_object('outcome', 'not_found');
  end if;`;

export const FAULTS: readonly Fault[] = [
  {
    name: 'a takeover keeps the epoch',
    function: 'acquire',
    from: `set status = 'starting', epoch = s.epoch + 1`,
    to: `set status = 'starting', epoch = s.epoch`,
    rules: ['noError', 'oneRunner', 'epochRises', 'awaitsPredecessor'],
  },
  {
    name: 'a claim replaces a start that is alive',
    function: 'acquire',
    from: 'and s.expires_at > v_now and s.claim_until > v_now',
    to: 'and s.expires_at > v_now and s.claim_until < v_now',
    rules: ['liveStays'],
  },
  {
    name: 'the quota admits one more',
    function: 'acquire',
    from: 'if v_active >= p_user_limit then',
    to: 'if v_active > p_user_limit then',
    rules: ['quota'],
  },
  {
    name: 'the quota is counted without a lock',
    function: 'acquire',
    from: `perform pg_advisory_xact_lock(hashtextextended('omicron.user:' || p_user, 0));`,
    to: 'perform 1;',
    rules: ['quota', 'noError', 'oneWriter'],
  },
  {
    name: 'a lost answer is not found again',
    function: 'acquire',
    from: `if s.status = 'starting' and s.claim_id = p_claim then`,
    to: 'if false then',
    rules: ['liveStays', 'noError', 'ownClaim'],
  },
  {
    name: 'ready does not ask whether the lease has expired',
    function: 'make_ready',
    from: 'or s.expires_at <= v_now then',
    to: 'then',
    rules: ['grantUnexpired', 'noRevival'],
  },
  {
    name: 'an end does not compare the epoch',
    function: 'end_lease',
    from: 'if p_epoch is not null and p_epoch <> s.epoch then',
    to: 'if false then',
    rules: ['endForReason'],
  },
  {
    name: 'an end says that no runner serves its lease',
    function: 'end_lease',
    from: `'outcome', 'ended', 'session', to_jsonb(s), 'served', omicron.may_act(s.id, s.epoch)`,
    to: `'outcome', 'ended', 'session', to_jsonb(s), 'served', false`,
    rules: ['oneServes'],
  },
  {
    name: 'an end keeps the claim',
    function: 'close_lease',
    from: `claim_id = null, claim_until = null, starting_since = null, mcp_url = null`,
    to: 'mcp_url = null',
    rules: ['endDropsClaim', 'noError'],
  },
  {
    name: 'a heartbeat revives an expired lease',
    function: 'heartbeat',
    from: `or s.expires_at <= v_now then`,
    to: 'then',
    rules: ['noRevival', 'quota'],
  },
  {
    name: 'a report does not write what it tells',
    function: 'report_activity',
    from: 'deadline_at = greatest(deadline_at, s.expires_at)',
    to: 'deadline_at = deadline_at',
    rules: ['deadlineRises', 'oneServes'],
  },
  {
    name: 'a redemption does not wait for its predecessor',
    function: 'redeem',
    from: 'if omicron.may_act(s.id, p_epoch - 1) then',
    to: 'if false then',
    rules: ['awaitsPredecessor', 'oneServes'],
  },
  {
    name: 'a redemption is given to any key',
    function: 'redeem',
    from: `r.state = 'leased' and r.redemption_key = p_key`,
    to: `r.state = 'leased'`,
    rules: ['secretsOnce', 'oneServes'],
  },
  {
    name: 'a heartbeat judges by a time from before its lock',
    function: 'heartbeat',
    from: `${LOCK_AND_NO_SESSION}
  v_now := clock_timestamp();`,
    to: `v_now := clock_timestamp();
  ${LOCK_AND_NO_SESSION}`,
    rules: ['noRevival', 'quota'],
  },
  {
    name: 'the pool drains a runner that a lease holds',
    function: 'plan_pool',
    from: `where state in ('creating', 'warm') and session_id is null and provider = p_provider and template = p_template
                     and created_at`,
    to: `where state in ('creating', 'warm', 'claimed', 'leased') and provider = p_provider and template = p_template
                     and created_at`,
    rules: ['poolSpares'],
  },
  {
    name: 'a permit is not given back',
    function: 'runner_gone',
    from: 'update omicron.permits set runner_id = null where runner_id = p_runner;',
    to: '',
    rules: ['capacity', 'recovers'],
  },
  {
    name: 'a caller takes a place for which another waits',
    function: 'join_line',
    from: '> v_turn then',
    to: '>= v_turn then',
    rules: ['noOvertaking'],
  },
  {
    name: 'a new caller comes before one that was asked to come back',
    function: 'join_line',
    from: 'w.place is null or place < w.place and waits_until > v_now)',
    to: '(w.place is null or place < w.place) and waits_until > v_now)',
    rules: ['noOvertaking'],
  },
  {
    name: 'the line calls one caller too few',
    function: 'line_turns',
    from: 'inline.turn > v_free',
    to: 'inline.turn >= v_free',
    rules: ['noFreePlace'],
  },
  {
    name: 'a refused caller loses its place',
    function: 'join_line',
    from: `waits_until < v_now and kept_until < v_now`,
    to: 'waits_until < v_now',
    rules: ['keepsTurn', 'noOvertaking'],
  },
  {
    name: 'a user may wait more often than it may have sessions',
    function: 'join_line',
    from: 'if v_waiting >= p_user_limit then',
    to: 'if v_waiting > p_user_limit then',
    rules: ['lineQuota'],
  },
  {
    name: 'two live leases have a profile for writing',
    function: 'claim_profile',
    from: 'if s.id is not null then',
    to: 'if false then',
    rules: ['oneWriter', 'writerSaves'],
  },
  {
    name: 'a runner saves a profile that another one writes',
    function: 'save_refusal',
    from: 'p.writer is distinct from p_runner',
    to: 'false',
    rules: ['writerSaves'],
  },
  {
    name: 'a lease is hibernated that was just used',
    function: 'hibernation_refusal',
    from: 'if s.last_used_at > v_now - make_interval(secs => p_idle_seconds) then',
    to: 'if false then',
    rules: ['hibernatesIdle'],
  },
  {
    name: 'a restore that fails costs the snapshot',
    function: 'close_lease',
    from: `if s.status = 'starting' and s.hibernated_until > clock_timestamp()`,
    to: `if false and s.hibernated_until > clock_timestamp()`,
    rules: ['restoreCosts'],
  },
  {
    name: 'a restored lease keeps its snapshot',
    function: 'make_ready',
    from: 'perform omicron.drop_snapshot(s.id);',
    to: '',
    rules: ['snapshotKept'],
  },
];
