/** The knowledge of the model: the rows of the database, what callers and runners hold in memory, and what is on the wire. */
import { RUNNER_STATES, type RunnerState } from '../../contract/states.ts';

/** The content of an assignment; `claim` is the caller whose request it is. `boot` is its audience. */
export type Assignment = {
  readonly session: number;
  readonly epoch: number;
  readonly claim: number;
  readonly boot: number;
};

export const SESSION_STATUS = ['over', 'starting', 'ready', 'hibernated'] as const;

/** A row of `browser_sessions`. `over` is absent, ended and error in one: the protocol treats them alike. */
export type Session = {
  status: (typeof SESSION_STATUS)[number];
  epoch: number;
  /** `claim_id`: 1 + the caller's number; 0 is null. */
  claim: number;
  /** Ticks until `claim_until`, until the hard cap of a start, until `expires_at`; 0 is past. */
  claimLeft: number;
  startLeft: number;
  left: number;
  /** It has a snapshot: `hibernated_until` is set. */
  saved: boolean;
  /** It was used within the tick; only where leases are hibernated. */
  used: boolean;
  /** Watched, not stored: whether this start restores a hibernated session. */
  restores: boolean;
  /** Watched, not stored: the highest epoch ever claimed, the highest that is over, whether this epoch was redeemed. */
  claimedEpoch: number;
  overEpoch: number;
  redeemed: boolean;
  /** The values that a step read earlier and still believes: only where a fix is taken out. */
  belief: number;
};

/** `waiting`: a replica holds its call, and its place in the line. */
export const CALLER_PHASES = ['asking', 'counted', 'claimed', 'sent', 'answered', 'waiting'] as const;

/** A controller that executes get-or-create. Its crash is that it takes no further step. */
export type Caller = { phase: (typeof CALLER_PHASES)[number]; session: number; epoch: number };

/** `none`: there is no row. */
export const ROW_STATES = ['none', ...RUNNER_STATES] as const;
export const PODS = ['none', 'asked', 'up'] as const;
/** `dirty` (watched): a call was carried out after the browser was read. */
export const SAVES = ['none', 'read', 'dirty'] as const;
export const PHASES = ['none', 'fresh', 'redeeming', 'open', 'closed', 'dead'] as const;

/** A row of `runners`, its pod, and the process in it. A slot is reused when all three are gone. */
export type Runner = {
  state: RunnerState | 'none';
  /** -1 while it is unleased. */
  session: number;
  epoch: number;
  /** Its claimer may have sent it something. */
  assigned: boolean;
  redeemed: boolean;
  /** Ticks until the latest end that the runner was ever informed of. */
  deadline: number;
  /** It has said, or the provider has proved, that it no longer serves an agent. */
  acked: boolean;
  boot: number;

  /** `asked`: a create call is under way. */
  pod: (typeof PODS)[number];

  phase: (typeof PHASES)[number];
  /** The state that it has read of its browser, to hibernate. */
  save: (typeof SAVES)[number];
  processBoot: number;
  job: Assignment | null;
  /** Age in ticks of its unanswered request (redeem, then activity reports), -1 is none. */
  asked: number;
  /** Ticks until the end that an answer on the wire gives it, -1 is none. */
  answer: number;
  /** Ticks until it closes by its own monotonic clock. */
  own: number;

  /** An assignment on the wire: it may arrive late, never, or many times. */
  mail: Assignment | null;
  /** Watched: the first lease it ever served. */
  served: Assignment | null;
  /** Watched: ticks since it was reserved, until it is sent something. */
  waited: number;
  belief: number;
};

/** A row of `waiting_callers`, in the order of the line. */
export type Waiting = {
  session: number;
  /** `waits_until` is ahead: a replica holds the call. */
  waits: boolean;
  /** `kept_until` is ahead: the caller was asked to come back. */
  kept: boolean;
  /** Watched: its replica has crashed. */
  orphan: boolean;
};

export type State = {
  line: Waiting[];
  sessions: Session[];
  callers: Caller[];
  runners: Runner[];
  /** The state of a standby that has not got the last claim; only without its fix. */
  standby: State | null;
  /** Rules broken by the step that led here; no part of the key. */
  broken: string[];
};

/** Adds the step that does `change` to a copy of the state. */
export type Emit = (name: string, heals: boolean, change: (draft: State) => void) => void;

export const noRunner = (): Runner => ({
  state: 'none',
  session: -1,
  epoch: 0,
  assigned: false,
  redeemed: false,
  deadline: 0,
  acked: false,
  boot: 0,
  pod: 'none',
  phase: 'none',
  save: 'none',
  processBoot: 0,
  job: null,
  asked: -1,
  answer: -1,
  own: 0,
  mail: null,
  served: null,
  waited: 0,
  belief: 0,
});

export const warmRunner = (): Runner => ({
  ...noRunner(),
  state: 'warm',
  boot: 1,
  pod: 'up',
  phase: 'fresh',
  processBoot: 1,
});

/** The `warm` first runners are up already: a short cut to what happens later. */
export const initialState = (sizes: { sessions: number; callers: number; runners: number; warm: number }): State => ({
  line: [],
  sessions: Array.from({ length: sizes.sessions }, () => ({
    status: 'over',
    epoch: 0,
    claim: 0,
    claimLeft: 0,
    startLeft: 0,
    left: 0,
    saved: false,
    used: false,
    restores: false,
    claimedEpoch: 0,
    overEpoch: 0,
    redeemed: false,
    belief: 0,
  })),
  callers: Array.from({ length: sizes.callers }, () => ({ phase: 'asking', session: 0, epoch: 0 })),
  runners: Array.from({ length: sizes.runners }, (_, place) => (place < sizes.warm ? warmRunner() : noRunner())),
  standby: null,
  broken: [],
});

function at<T>(list: readonly T[], index: number): T {
  const item = list[index];
  if (item === undefined) throw new Error(`nothing at ${index}`);
  return item;
}
export const sessionAt = (state: State, index: number): Session => at(state.sessions, index);
export const callerAt = (state: State, index: number): Caller => at(state.callers, index);
export const runnerAt = (state: State, place: number): Runner => at(state.runners, place);

export const copyState = (state: State): State => ({
  line: state.line.map(row => ({ ...row })),
  sessions: state.sessions.map(session => ({ ...session })),
  callers: state.callers.map(caller => ({ ...caller })),
  runners: state.runners.map(runner => ({ ...runner })),
  standby: state.standby,
  broken: [],
});

const lease = (assignment: Assignment | null): number =>
  assignment === null
    ? 0
    : 1 + assignment.session + 4 * assignment.epoch + 32 * assignment.claim + 256 * assignment.boot;

/** Runners have no identity but what they hold, so their order does not count. */
export function stateKey(state: State): string {
  const codes: number[] = [];
  for (const s of state.sessions)
    codes.push(
      SESSION_STATUS.indexOf(s.status) + 4 * s.epoch + 32 * s.claim + 256 * Number(s.redeemed),
      s.claimLeft + 8 * s.startLeft + 64 * s.left,
      s.claimedEpoch +
        8 * s.overEpoch +
        64 * s.belief +
        1024 * Number(s.saved) +
        2048 * Number(s.used) +
        4096 * Number(s.restores),
    );
  for (const w of state.line)
    codes.push(1 + w.session + 8 * Number(w.waits) + 16 * Number(w.kept) + 32 * Number(w.orphan));
  for (const c of state.callers) codes.push(CALLER_PHASES.indexOf(c.phase) + 8 * c.session + 64 * c.epoch);
  const parts = state.runners.map(runnerKey).sort();
  parts.push(String.fromCharCode(...codes));
  if (state.standby !== null) parts.push(stateKey(state.standby));
  return parts.join('');
}

const runnerKey = (r: Runner): string =>
  String.fromCharCode(
    ROW_STATES.indexOf(r.state) + 8 * (r.session + 1) + 64 * r.epoch,
    Number(r.assigned) + 2 * Number(r.redeemed) + 4 * Number(r.acked) + 8 * r.deadline + 64 * r.boot + 512 * r.belief,
    PODS.indexOf(r.pod) + 4 * PHASES.indexOf(r.phase) + 32 * r.processBoot + 256 * r.own,
    r.asked + 1 + 8 * (r.answer + 1) + 64 * r.waited + 512 * SAVES.indexOf(r.save),
    lease(r.job),
    lease(r.mail),
    lease(r.served),
  );
