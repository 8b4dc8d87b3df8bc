/** The holes that the checker must find when a fix is taken out, and the worlds in which it must find nothing. */
import { NEVER_QUIET } from './explore.ts';
import { type Fix, SMALL, type World } from './world.ts';

export type Hole = {
  /** A number where the hole was known before the model, a letter where the model showed it first. */
  id: string;
  title: string;
  without: readonly Fix[];
  /** The harm that is looked for; lesser rules that break on the way there are let pass. */
  rule: string;
  /** Steps of the trace, at most. */
  lengthMax: number;
  sizes?: Partial<World>;
};

const TWO_SERVE = 'one runner at most serves a session';
const WARM = { warm: 2, pool: 0 };
const LINE = { line: true, sessions: 2, quota: 2, permits: 1, runners: 2, warm: 0, pool: 0 };
const HIBERNATES = { callers: 1, hibernates: true };

export const HOLES: readonly Hole[] = [
  {
    id: '1',
    title: 'a runner without a deadline of its own',
    without: ['runner-deadline'],
    rule: TWO_SERVE,
    lengthMax: 12,
  },
  {
    id: '2',
    title: 'a redemption that does not wait for its predecessor',
    without: ['redeem-awaits-predecessor'],
    rule: TWO_SERVE,
    lengthMax: 11,
  },
  {
    id: '3',
    title: 'a ready that revives an ended session',
    without: ['ready-asks-starting', 'ready-judges-expiry'],
    rule: 'no grant after an end',
    lengthMax: 8,
  },
  {
    id: '4',
    title: 'a late DELETE of an earlier epoch',
    without: ['requests-carry-epoch'],
    rule: 'a request for one epoch touches no other',
    lengthMax: 4,
  },
  {
    id: '5',
    title: 'a second runner in the same epoch after an assignment timed out',
    without: ['new-runner-new-epoch'],
    rule: TWO_SERVE,
    lengthMax: 10,
  },
  {
    id: '6',
    title: 'secrets after the claimer gave up',
    without: ['redeem-judges-claim'],
    rule: 'secrets are for the current claim alone',
    lengthMax: 5,
  },
  {
    id: '7',
    title: 'a redemption judged on an old snapshot of the session',
    without: ['redeem-locks-session', 'claim-drains-old-runner'],
    rule: 'secrets are for the current claim alone',
    lengthMax: 7,
  },
  {
    id: '8',
    title: 'a takeover that leaves the old runner claimed',
    without: ['claim-drains-old-runner'],
    rule: NEVER_QUIET,
    lengthMax: 3,
  },
  {
    id: '9',
    title: 'a restarted runner that registers as warm again',
    without: ['up-only-from-creating'],
    rule: 'a runner serves one session and one epoch',
    lengthMax: 13,
    sizes: { callers: 1, runners: 1, restarts: true, warm: 1 },
  },
  {
    id: '10',
    title: 'a pool that picks a warm runner and deletes it later',
    without: ['pool-drains-first'],
    rule: 'no loop deletes the pod of a claimed or leased runner',
    lengthMax: 3,
  },
  {
    id: '11',
    title: 'a reaper that reads, then ends whatever is there',
    without: ['end-compares-epoch'],
    rule: 'a request for one epoch touches no other',
    lengthMax: 12,
  },
  {
    id: '12',
    title: 'a failover that loses the commit of a claim',
    without: ['synchronous-standby'],
    rule: 'an epoch is claimed once',
    lengthMax: 3,
  },
  {
    id: '13',
    title: 'a heartbeat judged before it waited for the lock',
    without: ['judge-under-lock'],
    rule: 'no lease is revived after its expiry',
    lengthMax: 11,
  },
  {
    id: '14',
    title: 'a claimer that lost the answer of COMMIT',
    without: ['resume-own-claim'],
    rule: 'no caller waits for its own claim',
    lengthMax: 2,
  },
  {
    id: '15',
    title: 'a takeover that throws a slow cold start away',
    without: ['takeover-inherits'],
    rule: 'a takeover keeps a runner that was sent nothing',
    lengthMax: 3,
    sizes: { warm: 0 },
  },
  {
    id: '17a',
    title: 'a permit given back before its pod is gone',
    without: ['permit-until-gone'],
    rule: 'live pods stay within the permits',
    lengthMax: 7,
    sizes: { permits: 1, warm: 0 },
  },
  {
    id: '17b',
    title: 'an expired lease that keeps its user out',
    without: ['quota-ignores-expired'],
    rule: 'no request is refused while a place is free',
    lengthMax: 10,
    sizes: { sessions: 2, callers: 1, epochs: 1 },
  },
  {
    id: '17c',
    title: 'a quota counted in one step and used in another',
    without: ['quota-under-lock'],
    rule: 'live leases stay within the quota',
    lengthMax: 4,
    sizes: { sessions: 2 },
  },
  {
    id: '21',
    title: 'an orphan sweep that reads rows before it lists pods',
    without: ['sweep-lists-pods-first'],
    rule: 'no loop deletes the pod of a claimed or leased runner',
    lengthMax: 6,
    sizes: { warm: 0 },
  },
  {
    id: 'seed',
    title: 'a takeover that keeps the epoch',
    without: ['takeover-raises-epoch'],
    rule: TWO_SERVE,
    lengthMax: 11,
  },
  {
    id: 'seed',
    title: 'a ready without epoch and claim_id',
    without: ['ready-names-claim', 'claim-id'],
    rule: 'no grant of an epoch after a higher one was claimed',
    lengthMax: 13,
  },
  {
    id: 'A',
    title: 'a runner that is called gone because it does not answer',
    without: ['suspicion-is-not-gone'],
    rule: TWO_SERVE,
    lengthMax: 11,
  },
  {
    id: 'B',
    title: 'a runner that is called gone while a call still creates its pod',
    without: ['gone-awaits-create'],
    rule: 'live pods stay within the permits',
    lengthMax: 8,
    sizes: { permits: 1, warm: 0 },
  },
  {
    id: 'C',
    title: 'time left that a runner is told and its row is not',
    without: ['told-is-written'],
    rule: TWO_SERVE,
    lengthMax: 19,
  },
  {
    id: 'D',
    title: 'time left that is counted from when the answer came',
    without: ['count-from-asking'],
    rule: TWO_SERVE,
    lengthMax: 12,
  },
  {
    id: 'E',
    title: 'a drained runner that opens when its redemption is answered late',
    without: ['closed-stays-closed'],
    rule: TWO_SERVE,
    lengthMax: 13,
  },
  {
    id: 'F',
    title: 'a ready for a lease that expired since its redemption',
    without: ['ready-judges-expiry'],
    rule: 'no grant of an expired lease',
    lengthMax: 9,
  },
  {
    id: 'G',
    title: 'a runner that never comes up, inherited again and again',
    without: ['inherit-keeps-cap'],
    rule: 'a runner that does not come up is given up at the cap of its start',
    lengthMax: 4,
    sizes: { warm: 0 },
  },
  {
    id: 'H',
    title: 'a launch that another replica had finished, given up as if it had failed',
    without: ['launch-fails-only-creating'],
    rule: TWO_SERVE,
    lengthMax: 11,
  },
  {
    id: 'I',
    title: 'a lapsed start that gives its place away and is beaten alive again',
    without: ['lapsed-start-counts'],
    rule: 'live leases stay within the quota',
    lengthMax: 3,
    sizes: { sessions: 2 },
  },
  {
    id: 'J',
    title: 'a session that is called hibernated before its snapshot is kept',
    without: ['hibernate-in-one-step'],
    rule: 'a hibernated session has its snapshot',
    lengthMax: 10,
    sizes: HIBERNATES,
  },
  {
    id: 'K',
    title: 'a call that is carried out after the browser was read',
    without: ['calls-wait-for-hibernation'],
    rule: 'a snapshot holds all that agents did',
    lengthMax: 11,
    sizes: HIBERNATES,
  },
  {
    id: 'L',
    title: 'a hibernation that takes away what a get-or-create was just given',
    without: ['hibernate-judges-use'],
    rule: 'no lease is hibernated that was just used',
    lengthMax: 9,
    sizes: HIBERNATES,
  },
  {
    id: 'M',
    title: 'a runner of an earlier epoch that hibernates the session late',
    without: ['hibernate-judges-lease'],
    rule: 'a request for one epoch touches no other',
    lengthMax: 9,
    sizes: HIBERNATES,
  },
  {
    id: 'N',
    title: 'a snapshot that goes when its restore begins',
    without: ['snapshot-until-ready'],
    rule: 'a restore that fails costs nothing of the session',
    lengthMax: 12,
    sizes: HIBERNATES,
  },
  {
    id: 'O',
    title: 'a restore that fails and ends the session',
    without: ['failed-restore-hibernates'],
    rule: 'a restore that fails costs nothing of the session',
    lengthMax: 12,
    sizes: HIBERNATES,
  },
  {
    id: 'P',
    title: 'a snapshot that outlives its session',
    without: ['end-drops-snapshot'],
    rule: 'a snapshot goes with its end and its restore',
    lengthMax: 11,
    sizes: HIBERNATES,
  },
  {
    id: 'Q',
    title: 'a caller that takes the place for which another one waits',
    without: ['line-in-order'],
    rule: 'no caller overtakes another of the same pool',
    lengthMax: 6,
    sizes: LINE,
  },
  {
    id: 'R',
    title: 'a caller that is refused for another reason and keeps those behind it waiting',
    without: ['refused-leaves-line'],
    rule: 'a place in the line that holds others up has a caller',
    lengthMax: 12,
    sizes: { ...LINE, permits: 2, sessions: 3 },
  },
];

export const worldOf = (hole: Hole): World => ({ ...SMALL, ...WARM, ...hole.sizes, without: new Set(hole.without) });

const ONE_CALLER = { ...SMALL, callers: 1 };

/** Worlds with every fix. `deep` ones take minutes: they are run by hand, with `show.ts deep`. */
export const WHOLE: readonly { title: string; deep: boolean; world: World }[] = [
  { title: 'one session, two callers, two runners, two epochs', deep: false, world: { ...SMALL, warm: 2 } },
  { title: 'a single permit', deep: false, world: { ...SMALL, permits: 1 } },
  { title: 'three epochs', deep: false, world: { ...ONE_CALLER, epochs: 3 } },
  {
    title: 'two sessions of a user whose quota is one, a single permit',
    deep: false,
    world: { ...SMALL, sessions: 2, epochs: 1, permits: 1 },
  },
  {
    title: 'two sessions at once',
    deep: false,
    world: { ...ONE_CALLER, ...WARM, sessions: 2, epochs: 1, quota: 2 },
  },
  {
    title: 'containers that restart in place',
    deep: false,
    world: { ...SMALL, runners: 1, permits: 1, epochs: 3, restarts: true },
  },
  {
    title: 'leases that are hibernated',
    deep: false,
    world: { ...ONE_CALLER, ...WARM, hibernates: true },
  },
  {
    title: 'two callers in line for a single permit',
    deep: false,
    world: { ...SMALL, ...LINE, epochs: 1 },
  },
  {
    title: 'no claim_id in redeem and ready (hole 22: safety does not need it)',
    deep: false,
    world: { ...SMALL, ...WARM, without: new Set(['claim-id']) },
  },
  { title: 'two callers, three epochs', deep: true, world: { ...SMALL, epochs: 3 } },
  { title: 'two sessions of a user whose quota is one', deep: true, world: { ...SMALL, sessions: 2, epochs: 1 } },
  { title: 'three callers', deep: true, world: { ...SMALL, callers: 3, pool: 0 } },
  { title: 'two callers, containers that restart in place', deep: true, world: { ...SMALL, restarts: true } },
  {
    title: 'three runners, three epochs',
    deep: true,
    world: { ...ONE_CALLER, runners: 3, permits: 3, epochs: 3 },
  },
  {
    title: 'two sessions at once, three runners',
    deep: true,
    world: { ...ONE_CALLER, sessions: 2, epochs: 1, runners: 3, permits: 3, quota: 2 },
  },
  { title: 'two sessions at once, two callers', deep: true, world: { ...SMALL, sessions: 2, epochs: 1, quota: 2 } },
  { title: 'two sessions, two epochs each', deep: true, world: { ...ONE_CALLER, sessions: 2 } },
];
