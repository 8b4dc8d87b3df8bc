import type { Logger } from 'pino';
import { OmicronError, type ProblemCode } from '../../contract/problem.ts';
import { userIdHash } from '../../contract/tokens.ts';
import { type Clock, timeoutSignal } from '../../time/clock.ts';
import type { AcquirePart } from '../acquire-metrics.ts';
import type { RunnerLink } from '../ports/runner-link.ts';
import type { RunnerProvider } from '../ports/runners.ts';
import type { Claim } from '../store/claim-beats.ts';
import type { Fleet } from '../store/fleet.ts';
import type { Leases, StartedLease } from '../store/leases.ts';
import type { RunnerRow, SessionRow } from '../store/rows.ts';
import { assignmentToken, type Keys } from './assignment-tokens.ts';
import type { AwaitedRedemptions } from './awaited-redemptions.ts';
import type { Waits } from './waits.ts';

export interface StartParts {
  leases: Leases;
  fleet: Fleet;
  provider: RunnerProvider;
  link: RunnerLink;
  redemptions: AwaitedRedemptions;
  waits: Pick<Waits, 'created' | 'starts' | 'markSettled'>;
  keys: Keys;
  /** Part of the recordings' prefix, e.g. `prod`. */
  env: string;
  /** Beats this often keep a claim that is three times as long. */
  beatMs: number;
  /** Called when a runner that does not exist yet is waited for. */
  kickLaunch: () => void;
  /**
   * Called for the runners that the claim drained. The pool is not woken: its next round refills it, after the first
   * page has loaded.
   */
  kickDrain: () => void;
  /** A part of an acquire has ended. */
  onPart: (part: AcquirePart, seconds: number) => void;
  clock: Clock;
  log: Logger;
}

/** How one start ended. `abandon`: another runner may succeed; `lost`: the claim is over. */
export type Started =
  | { outcome: 'ready'; session: SessionRow }
  | { outcome: 'abandon'; error: OmicronError }
  | { outcome: 'lost' };

/** A healthy runner answers in milliseconds; one that waits for its predecessor says so at /healthz. */
const ASSIGN_TIMEOUT_MS = 10_000;
const HEALTH_TIMEOUT_MS = 1_000;

/** Errors that a new runner would meet again. */
const FINAL: ReadonlySet<ProblemCode> = new Set([
  'secrets_unavailable',
  'predecessor_draining',
  'credentials_not_configured',
  'profile_unavailable',
  'profile_unreadable',
]);

/**
 * Leads one claim to `ready`: waits for its runner, assigns it, makes the lease ready. Renews the claim meanwhile.
 * `evicted`: the claim ended other leases of its user.
 */
export async function start(
  parts: StartParts,
  session: SessionRow,
  claimed: RunnerRow,
  evicted: boolean,
): Promise<Started> {
  const { leases, provider, log } = parts;
  const claimId = session.claim_id;
  if (!claimId) throw new Error(`session ${session.id} has no claim`);
  const claim: Claim = { sessionId: session.id, epoch: session.epoch, claimId };
  const over = new AbortController();
  const stopBeating = keepClaim(parts, claim, over);
  try {
    // The redemption waits for the previous epoch's runner; and while a runner is still starting, a drain delays
    // nothing.
    const drainsFirst = session.epoch > 1 || (evicted && claimed.assigned_at === null);
    if (drainsFirst) parts.kickDrain();
    const runner = await assignableRunner(parts, claim, claimed, over.signal);
    if (!runner?.endpoint) return { outcome: 'lost' };
    const reached = { id: runner.id, endpoint: runner.endpoint };
    const { token, prefix } = assignmentToken(parts.keys, parts.env, session, runner, claimId);
    const lease = { ...provider.addressOf(reached), prefix };
    const assigned = () => {
      const answered = assign(parts, reached.endpoint, token, over.signal);
      if (evicted && !drainsFirst) parts.kickDrain(); // an evicted lease's, while this runner redeems
      return answered;
    };
    const ready = await readyLease(parts, { session, runner: reached, claim }, lease, assigned);
    if (!ready) return { outcome: 'lost' };
    provider.markLeased(runner.id, {
      sessionId: session.id,
      epoch: session.epoch,
      userIdHash: userIdHash(parts.keys.derivation, session.user_id),
    });
    log.info({ session_id: ready.id, epoch: ready.epoch, runner_id: runner.id }, 'lease ready');
    return { outcome: 'ready', session: ready };
  } catch (error) {
    if (over.signal.aborted) return { outcome: 'lost' };
    if (!(error instanceof OmicronError) || error.code === 'store_unavailable') throw error;
    log.warn(
      { session_id: session.id, epoch: session.epoch, runner_id: claimed.id, code: error.code, detail: error.message },
      'session start failed',
    );
    if (!FINAL.has(error.code)) return { outcome: 'abandon', error: startFailure(error, session.id) };
    await leases.fail(claim, 'runner_start_failed', error.message);
    throw error;
  } finally {
    await stopBeating();
  }
}

interface Assigned {
  session: SessionRow;
  runner: { id: string; endpoint: string };
  claim: Claim;
}

/** A restore can still fail after the redemption, so the snapshot is kept until it succeeds. */
const mustRestore = (session: SessionRow): boolean =>
  session.options.profile !== undefined || session.hibernated_until !== null;

/** The ready lease: with its redemption, where that is made at this process, else once its runner has answered. Null: the claim is over. */
async function readyLease(
  parts: StartParts,
  assignment: Assigned,
  lease: StartedLease,
  assign: () => Promise<void>,
): Promise<SessionRow | null> {
  const { leases, redemptions, onPart, clock } = parts;
  const { session, claim } = assignment;
  const beganMs = clock.nowMs();
  let stepMs = beganMs;
  const begun = () => {
    stepMs = clock.nowMs();
  };
  const redemption = mustRestore(session) ? undefined : redemptions.await(claim.claimId, lease, begun);
  let ready: SessionRow | undefined;
  try {
    const redeemed = redemption?.session.then(session => (ready = session));
    const assigned = assign();
    assigned.catch(error => {
      if (ready !== undefined) void giveUpReady(parts, assignment, error);
    });
    const made = assigned.then(() => {
      if (ready !== undefined) return ready;
      begun();
      return leases.makeReady(claim, lease);
    });
    const row = await (redeemed === undefined ? made : Promise.race([redeemed, made]));
    if (row !== null) {
      onPart('assign', (stepMs - beganMs) / 1_000);
      onPart('ready', (clock.nowMs() - stepMs) / 1_000);
    }
    return row;
  } finally {
    redemption?.stop();
  }
}

/** A runner that redeemed and then failed serves no agent: its lease is lost, and the next request starts another one. */
async function giveUpReady(
  { fleet, provider, link, kickDrain, clock, log }: StartParts,
  { session, runner }: Assigned,
  err: Error,
): Promise<void> {
  const about = { session_id: session.id, epoch: session.epoch, runner_id: runner.id, err };
  const health = await link.healthOf(runner.endpoint, timeoutSignal(HEALTH_TIMEOUT_MS, clock));
  if (health?.phase === 'leased') return log.warn(about, 'answer to the assignment lost; the lease is served');
  log.warn(about, 'runner failed after its redemption');
  try {
    const death = await provider.deathOf(runner.id);
    const how = death?.ended || health?.phase === 'failed' ? 'ended' : 'leaving';
    await fleet.markLost(runner.id, how, 'runner_lost', death?.reason ?? err.message);
    kickDrain();
  } catch (error) {
    log.error({ ...about, err: error }, 'lease of a failed runner not ended; it ends with the runner');
  }
}

/** The error for the caller: a runner's own refusals (409, 401) do not make the request wrong. */
function startFailure(cause: OmicronError, sessionId: string): OmicronError {
  const about = { session_id: sessionId, cause };
  return cause.code === 'sandbox_runtime_required'
    ? new OmicronError(cause.code, cause.message, about) // a retry would fail the same way
    : new OmicronError('runner_start_failed', cause.message, { ...about, retryAfterSeconds: 1 });
}

/** Renews the claim until it is ordered to stop; aborts `over` when the claim has ended. */
function keepClaim({ leases, beatMs, clock, log }: StartParts, claim: Claim, over: AbortController) {
  const stopped = new AbortController();
  const pause = () => clock.sleep(beatMs, stopped.signal, true).catch(() => {});
  const beating = (async () => {
    for (await pause(); !stopped.signal.aborted; await pause()) {
      try {
        if (!(await leases.beat(claim))) over.abort(new Error('the claim has ended'));
      } catch (error) {
        // a database that is unreachable for a moment is asked again; the claim's own end is the bound
        log.warn({ err: error, session_id: claim.sessionId }, 'claim renewal failed; retrying');
      }
    }
  })();
  return (): Promise<void> => {
    stopped.abort();
    return beating;
  };
}

/** The claimed runner once it is up and marked as assigned. Null: the claim is over, or the runner died. */
async function assignableRunner(
  { leases, waits, kickLaunch, onPart, clock }: StartParts,
  claim: Claim,
  claimed: RunnerRow,
  signal: AbortSignal,
): Promise<RunnerRow | null> {
  if (claimed.state === 'claimed' && claimed.assigned_at) return claimed;
  kickLaunch();
  const beganMs = clock.nowMs();
  const runner = await waits.created.wait(claimed.id, { signal });
  if (runner?.state !== 'claimed') return null; // it died, and its session has the reason
  onPart('runner', (clock.nowMs() - beganMs) / 1_000);
  return leases.beginAssignment(claim);
}

/** Sends the assignment, and again to a runner that is still waiting for its predecessor to drain. */
async function assign({ link, clock }: StartParts, endpoint: string, token: string, signal: AbortSignal) {
  for (;;) {
    try {
      await link.assign(endpoint, token, ASSIGN_TIMEOUT_MS);
      return;
    } catch (error) {
      signal.throwIfAborted();
      const isSilent = error instanceof OmicronError && error.code === 'runner_start_failed';
      if (!isSilent) throw error;
      const health = await link.healthOf(endpoint, timeoutSignal(HEALTH_TIMEOUT_MS, clock));
      if (health?.phase !== 'assigning') throw error;
    }
  }
}
