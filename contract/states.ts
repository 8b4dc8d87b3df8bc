/**
 * The states of the three machines of a lease and every legal move between them. The first two are rows of the
 * database, whose triggers refuse any other move (`controller/store/functions/guards.sql`;
 * test/controller/states.test.ts tries every pair); the third is the memory of one process, and only decides what
 * that process does.
 */

export const SESSION_STATES = ['starting', 'ready', 'hibernated', 'ended', 'error'] as const;
export type SessionState = (typeof SESSION_STATES)[number];

/**
 * A session's row, within one epoch. `ended` and `error` are final: only a new claim leaves them (and any other
 * state), by raising the epoch and going to `starting`.
 */
export const NEXT_SESSION_STATES = {
  // make_ready, once the runner has redeemed | a restore that failed | end_lease, expire_leases | fail_claim, fail_stuck_starts, runner_lost
  starting: ['ready', 'hibernated', 'ended', 'error'],
  // hibernate | end_lease, expire_leases | runner_lost
  ready: ['hibernated', 'ended', 'error'],
  // end_lease, expire_leases
  hibernated: ['ended'],
  ended: [],
  error: [],
} as const satisfies Record<SessionState, readonly SessionState[]>;

export const RUNNER_STATES = ['creating', 'warm', 'claimed', 'leased', 'draining', 'gone'] as const;
export type RunnerState = (typeof RUNNER_STATES)[number];

/** A runner's row. It never moves back: a runner serves one lease. */
export const NEXT_RUNNER_STATES = {
  // runner_up, unreserved | runner_up, reserved by a lease | given up by the pool or its lease, or it did not start
  creating: ['warm', 'claimed', 'draining'],
  // acquire | plan_pool: stale or surplus; or it died
  warm: ['claimed', 'draining'],
  // redeem | its lease ended before it redeemed, or it died
  claimed: ['leased', 'draining'],
  // its lease ended, was superseded, or it died
  leased: ['draining'],
  // runner_gone: its process and what it left are removed
  draining: ['gone'],
  gone: [],
} as const satisfies Record<RunnerState, readonly RunnerState[]>;

/** `failed` keeps serving /healthz, so that the reason can be read, until the process stops. */
export const RUNNER_PHASES = ['launching', 'warm', 'assigning', 'leased', 'draining', 'failed'] as const;
export type RunnerPhase = (typeof RUNNER_PHASES)[number];

/**
 * The runner's own process. It learns of its row's state late or never, so no code compares the two:
 *
 * | phase     | its row, when nothing is late                                                             |
 * |-----------|-------------------------------------------------------------------------------------------|
 * | launching | `creating`                                                                                |
 * | warm      | `warm`; `claimed` until the assignment arrives                                            |
 * | assigning | `claimed`; `leased` until the answer of the redemption arrives                            |
 * | leased    | `leased`; `draining` until it is ordered to stop                                             |
 * | draining  | `draining`; `gone` once the process and what it left are removed                          |
 * | failed    | any but `gone`, until the controller sees it and makes it `draining` (liveness, or launch) |
 */
export const NEXT_RUNNER_PHASES = {
  launching: ['warm', 'failed', 'draining'],
  // an assignment arrived | the browser died | a drain or a signal
  warm: ['assigning', 'failed', 'draining'],
  // the redemption was answered and the lease is open | it was refused, or the browser died | a drain or a signal
  assigning: ['leased', 'failed', 'draining'],
  // the browser died | the lease is over, a drain or a signal
  leased: ['failed', 'draining'],
  failed: ['draining'],
  draining: [],
} as const satisfies Record<RunnerPhase, readonly RunnerPhase[]>;

/** Whether the table allows `from` to become `to`; staying is always allowed. */
export const mayMove = <State extends string>(
  next: Readonly<Record<State, readonly State[]>>,
  from: State,
  to: State,
): boolean => from === to || next[from].includes(to);
