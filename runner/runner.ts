import { randomUUID } from 'node:crypto';
import type { AssignAnswer, RunnerHealth } from '../contract/assignment.ts';
import { OmicronError } from '../contract/problem.ts';
import { assignLease } from './assign-lease.ts';
import type { RunnerBrowser } from './browser/browser.ts';
import { type PhaseMachine, phaseMachine } from './lease/phase.ts';
import { ownBrowser } from './own-browser.ts';
import type { OwnState } from './own-state.ts';
import type { RunnerDependencies } from './runner-dependencies.ts';
import { type SignedOrders, signedOrders } from './signed-orders.ts';

/** One browser for one lease: warm, then leased, then removed. */
export interface Runner extends SignedOrders {
  readonly bootId: string;
  /** Launches the browser. Never rejects: a failure is the phase `failed`, read at /healthz. */
  warm(): Promise<void>;
  /**
   * Gives this runner its lease. The same assignment gets the same answer; any other is refused for good. `traceparent` names the span
   * of this order, for the lease's calls.
   */
  assign(token: string, traceparent?: unknown): Promise<AssignAnswer>;
  /** Stops because this machine goes away, and hibernates the session before, where sessions are. Never rejects. */
  leave(reason: string): Promise<void>;
  /** Stops for a reason of this process's own; `ended` resolves when all is done. */
  stop(reason: string, exitCode?: number): void;
  health(): Promise<RunnerHealth>;
  /** Neither assigned nor stopping. */
  isUnleased(): boolean;
  /** Resolves when the runner begins to stop. */
  readonly stopped: Promise<void>;
  /** The exit code, once everything was closed, finalised and sent. */
  readonly ended: Promise<number>;
}

/** The time for finalising; with the browser's own end it fits into the 10 s after which the process exits. */
const RECORDING_MS = 5_000;
const EVENTS_MS = 2_000;
/** The time for hibernating when the machine goes away; the pod's grace has room for it before the end. */
const LEAVING_MS = 8_000;
/** How long a runner that failed says why, to its agents and at `/healthz`, before it makes room for the next epoch. */
const FAILED_GRACE_MS = 5_000;

/** Builds a runner; `warm()` starts it. */
export function createRunner(options: RunnerDependencies): Runner {
  const { runnerId, clock, log } = options;
  const bootId = randomUUID();
  const { promise: ended, resolve: end } = Promise.withResolvers<number>();
  const { promise: stopped, resolve: beginEnd } = Promise.withResolvers<void>();
  const abort = new AbortController();
  const own = ownBrowser({ ...options, onGone: onBrowserGone, signal: abort.signal });
  const state: OwnState = {
    bootId,
    own,
    machine: phaseMachine(log, () => ({ session_id: state.assigned?.assignment.session_id })),
    serving: Promise.resolve(),
    closedToAgents: Promise.resolve(),
    conceal: text => text,
    hibernates: false,
  };
  const { machine } = state;

  async function warm(): Promise<void> {
    try {
      await own.launch();
      machine.enter('launched');
    } catch (cause) {
      machine.fail(startError(cause, own.browser?.isGone() === true));
      await own.browser?.close();
    }
  }

  function onBrowserGone(gone: RunnerBrowser): void {
    const why = gone.whyEnded();
    const logged = machine.phase === 'draining' ? 'debug' : 'error';
    void gone.end().then(end => log[logged]({ why, ...end, lines: end.lines.map(state.conceal) }, 'browser ended'));
    const detail = why === undefined ? BROWSER_CRASHED : `The browser was ended: ${why}. Request a new lease.`;
    if (!machine.fail(new OmicronError('browser_crashed', detail))) return;
    state.served?.browserCrashed();
    stopAfterGrace('the browser crashed');
  }

  /** A failed runner goes by itself: its lease may be ready, and a controller that led its start may have gone. */
  function stopAfterGrace(reason: string): void {
    clock.sleep(FAILED_GRACE_MS, abort.signal, true).then(
      () => stop(reason, 1),
      () => undefined,
    );
  }

  function stop(reason: string, exitCode = 0): void {
    if (!machine.enter('stopped', { reason })) return;
    beginEnd();
    state.closedToAgents = state.served?.close(reason) ?? Promise.resolve();
    abort.abort();
    shutDown(options, state).then(
      () => end(exitCode),
      (error: unknown) => {
        log.error({ err: error }, 'shutdown failed');
        end(1);
      },
    );
  }

  return {
    bootId,
    ended,
    stopped,
    warm,
    stop,
    assign: (token, traceparent) =>
      assignLease({ token, traceparent }, options, state, { stop, stopAfterGrace, signal: abort.signal }),
    ...signedOrders(options, state, stop),
    isUnleased: () => state.assigned === undefined && machine.phase !== 'draining',
    async leave(reason) {
      if (state.served !== undefined && machine.phase === 'leased' && state.hibernates) {
        const late = clock.sleep(LEAVING_MS, abort.signal, true).catch(() => undefined);
        const hibernated = state.served.hibernate({ why: 'node', idle_seconds: 0 }).catch(() => undefined);
        await Promise.race([hibernated, late]);
      }
      stop(reason);
    },
    health: async () => ({ runner_id: runnerId, boot_id: bootId, ...(await healthOf(machine, own.browser)) }),
  };
}

/** Saves the profile, what was recorded, the last page and what happened, once no agent is served any more. */
async function shutDown(
  { clock, forwarder }: RunnerDependencies,
  { own, served, closedToAgents }: OwnState,
): Promise<void> {
  await closedToAgents;
  const late = new AbortController();
  const recorded = Promise.all([served?.stopRecording(), served?.keepLastPage()]);
  const unused = Promise.race([recorded, clock.sleep(RECORDING_MS, late.signal, true)]);
  await Promise.all([unused, served?.closeProfile(unused)]);
  late.abort();
  const signal = AbortSignal.timeout(EVENTS_MS);
  await Promise.all([own.browser?.close(), forwarder?.close(), served?.flushEvents(signal)]);
}

const BROWSER_CRASHED = 'The browser process exited. Request a new lease; it gets a new browser.';

function startError(cause: unknown, crashed: boolean): OmicronError {
  if (cause instanceof OmicronError) return cause;
  return crashed
    ? new OmicronError('browser_crashed', BROWSER_CRASHED, { cause })
    : new OmicronError('runner_start_failed', 'The browser did not become ready; read the log.', { cause });
}

async function healthOf(
  machine: PhaseMachine,
  browser: RunnerBrowser | undefined,
): Promise<Omit<RunnerHealth, 'runner_id' | 'boot_id'>> {
  const gates = (await browser?.gates()) ?? NOT_STARTED;
  const shut = !gates.process.ok || !gates.protocol.ok;
  const { phase, failure } = machine;
  return {
    phase,
    browser: gates,
    ...(shut ? { log: browser?.lastLines() ?? [] } : {}),
    ...(failure === undefined ? {} : { error: { code: failure.code, detail: failure.message } }),
  };
}

const NOT_STARTED: RunnerHealth['browser'] = {
  process: { ok: false, detail: 'not started yet' },
  protocol: { ok: false, detail: 'not started yet' },
};
