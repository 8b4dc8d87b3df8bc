import { randomUUID } from 'node:crypto';
import {
  type AssignAnswer,
  type Assignment,
  assignmentClaims,
  checkLoginClaims,
  drainClaims,
  type RunnerHealth,
  saveProfileClaims,
} from '../contract/assignment.ts';
import { filesClaims } from '../contract/files.ts';
import { hibernateClaims } from '../contract/hibernation.ts';
import type { LiveTokenClaims } from '../contract/live.ts';
import { LIVE_LIMITS } from '../contract/live-limits.ts';
import { AUDIENCES } from '../contract/names.ts';
import { OmicronError } from '../contract/problem.ts';
import type { ProfileCheck } from '../contract/profile.ts';
import { verifyControllerToken } from '../contract/tokens.ts';
import type { RunnerBrowser } from './browser/browser.ts';
import { guardPages } from './browser/page-guard.ts';
import { type BrowserWork, browserWork } from './calls/browser-work.ts';
import type { SessionFiles } from './files/session-files.ts';
import { type ServedLease, serveLease } from './lease/lease.ts';
import type { RunnerParts } from './lease/options.ts';
import { type PhaseMachine, phaseMachine } from './lease/phase.ts';
import { type Redeemed, redeem } from './lease/redeem.ts';
import type { LiveView } from './live/live-view.ts';
import { opensLease } from './mcp/bearer.ts';
import type { McpEndpoint } from './mcp/endpoint.ts';
import { checkLogin } from './profile/check-login.ts';
import { type OpenProfile, openProfile, type ProfileOptions } from './profile/lease-profile.ts';
import { restore } from './profile/light-profile.ts';
import { type Redact, type Redactor, redactor } from './reporting/redact.ts';

/** One browser for one lease: warm, then leased, then removed. */
export interface Runner {
  readonly bootId: string;
  /** Launches the browser. Never rejects: a failure is the phase `failed`, read at /healthz. */
  warm(): Promise<void>;
  /** Gives this runner its lease. The same assignment gets the same answer; any other is refused for good. */
  assign(token: string): Promise<AssignAnswer>;
  /** Stops by a signed token of the controller; resolves when no agent is served any more. */
  drain(token: string): Promise<void>;
  /** Saves the lease's profile now, by a signed token of the controller. Resolves with the version that holds it. */
  saveProfile(token: string): Promise<number>;
  /** Gives the browser back and keeps the session, by a signed token of the controller. Throws `lease_in_use` where the lease goes on. */
  hibernate(token: string): Promise<void>;
  /** Stops because this machine goes away, and hibernates the session before, where sessions are. Never rejects. */
  leave(reason: string): Promise<void>;
  /** Looks at a page, whether the lease's profile is logged in there, by a signed token of the controller. */
  checkLogin(token: string): Promise<ProfileCheck>;
  /** Stops for a reason of this process's own; `ended` resolves when all is done. */
  stop(reason: string, exitCode?: number): void;
  /** The lease's MCP endpoint for this bearer token, also after its end; rejects with `unauthorized` for any other. */
  endpoint(bearerToken: string | undefined): Promise<McpEndpoint>;
  /** The live view for a viewer's token, which it uses up; throws `unauthorized` for any other. */
  liveView(token: string | undefined): Promise<AdmittedViewer>;
  /** The files of the lease, by a signed token of the controller. Throws `lease_ended` where none is served. */
  files(token: string | undefined): Promise<SessionFiles>;
  health(): Promise<RunnerHealth>;
  /** Neither assigned nor stopping. */
  isUnleased(): boolean;
  /** Resolves when the runner begins to stop. */
  readonly stopped: Promise<void>;
  /** The exit code, once everything was closed, finalised and sent. */
  readonly ended: Promise<number>;
}

/** A viewer whose token was checked. */
export interface AdmittedViewer {
  readonly claims: LiveTokenClaims;
  readonly live: LiveView;
}

export interface RunnerOptions extends RunnerParts {
  readonly runnerId: string;
  /** With a folder, the browser keeps there what sites store. */
  readonly launch: (userDataDir?: string) => Promise<RunnerBrowser>;
  /** Runs before the runner is warm; when it fails, the runner is only slower. */
  readonly warmUp: (browser: RunnerBrowser) => Promise<void>;
  readonly filesDir: string;
  /** A place for the files of a profile. */
  readonly profileDir: string;
}

/** What finalising may take; with the browser's own end it fits into the 10 s after which the process exits. */
const RECORDING_MS = 5_000;
const EVENTS_MS = 2_000;
/** What hibernating may take when the machine goes away; the pod's grace has room for it before the end. */
const LEAVING_MS = 8_000;
/** How long a runner that failed says why, to its agents and at `/healthz`, before it makes room for the next epoch. */
const FAILED_GRACE_MS = 5_000;

/** Builds a runner; `warm()` starts it. */
export function createRunner(options: RunnerOptions): Runner {
  const { runnerId, keys, controller, clock, log } = options;
  const bootId = randomUUID();
  const audience = AUDIENCES.runner(runnerId, bootId);
  const { promise: ended, resolve: end } = Promise.withResolvers<number>();
  const { promise: stopped, resolve: beginEnd } = Promise.withResolvers<void>();
  const abort = new AbortController();
  const machine = phaseMachine(log, () => ({ session_id: assigned?.assignment.session_id }));
  let browser: RunnerBrowser | undefined;
  let work: BrowserWork | undefined;
  let assigned: { assignment: Assignment; answer: Promise<AssignAnswer> } | undefined;
  let served: ServedLease | undefined;
  /** Resolves once the lease is served, or is not. */
  let serving: Promise<void> = Promise.resolve();
  /** Takes the lease's secrets out of what the browser wrote. */
  let conceal: Redact = text => text;
  let hibernates = false;
  let closedToAgents: Promise<void> = Promise.resolve();

  async function warm(): Promise<void> {
    try {
      browser = await options.launch();
      work = await warmBrowser(browser, options);
      watch(browser);
      machine.enter('launched');
    } catch (cause) {
      machine.fail(startError(cause, browser?.isGone() === true));
      await browser?.close();
    }
  }

  function watch(launched: RunnerBrowser): void {
    void launched.gone.then(() => {
      if (launched === browser) onBrowserGone(launched);
    });
  }

  /** A browser takes its folder when it is launched, so that a complete profile needs another one than the warm one. */
  async function restart(userDataDir: string, prepare: (browser: RunnerBrowser) => Promise<void>) {
    const warm = browser;
    browser = undefined; // its end is no crash
    const closed = warm?.close();
    const launched = await options.launch(userDataDir);
    browser = launched;
    watch(launched);
    if (abort.signal.aborted) await launched.close();
    await prepare(launched);
    work = await workOf(launched, options);
    await closed;
    return launched;
  }

  function onBrowserGone(gone: RunnerBrowser): void {
    const why = gone.whyEnded();
    const logged = machine.phase === 'draining' ? 'debug' : 'error';
    void gone.end().then(end => log[logged]({ why, ...end, lines: end.lines.map(conceal) }, 'browser ended'));
    const detail = why === undefined ? BROWSER_CRASHED : `The browser was ended: ${why}. Request a new lease.`;
    if (!machine.fail(new OmicronError('browser_crashed', detail))) return;
    served?.browserCrashed();
    stopAfterGrace('the browser crashed');
  }

  /** A failed runner goes by itself: its lease may be ready, and a controller that led its start may have gone. */
  function stopAfterGrace(reason: string): void {
    clock.sleep(FAILED_GRACE_MS, abort.signal, true).then(
      () => stop(reason, 1),
      () => undefined,
    );
  }

  async function assign(token: string): Promise<AssignAnswer> {
    const { claims } = await verifyControllerToken(keys, audience, token, assignmentClaims);
    if (claims.runner_id !== runnerId)
      throw new OmicronError('assignment_refused', 'The assignment names another runner.');
    if (assigned !== undefined) {
      if (assigned.assignment.jti === claims.jti) return assigned.answer;
      throw new OmicronError('assignment_refused', 'This runner was already assigned, and serves one lease only.');
    }
    if (!machine.enter('assigned', { session_id: claims.session_id, epoch: claims.epoch }))
      throw machine.failure ?? new OmicronError('assignment_refused', `This runner is ${machine.phase}, not warm.`);
    const { promise, resolve } = Promise.withResolvers<void>();
    serving = promise; // an agent may have the lease from its redemption on, and come before it is served
    assigned = { assignment: claims, answer: startLease(claims, token, resolve) };
    return assigned.answer;
  }

  /** `isServed` is called once agents are served, or never will be. */
  async function startLease(assignment: Assignment, token: string, isServed: () => void): Promise<AssignAnswer> {
    const { session_id, epoch } = assignment;
    try {
      const redeemed = await redeem(controller, token, abort.signal, clock);
      hibernates = redeemed.hibernates;
      const leaseRedactor = redactor(redeemed.secrets);
      conceal = leaseRedactor.redact;
      const profile =
        browser &&
        (await openLeaseProfile({ ...options, browser, restart }, assignment, redeemed, leaseRedactor, abort.signal));
      const restored = redeemed.restores ? await controller.snapshot(redeemed.leaseToken, abort.signal) : undefined;
      if (browser !== undefined && restored?.state != null) await restore(browser.context, restored.state);
      if (browser === undefined || work === undefined || !machine.enter('redeemed', { epoch }))
        throw machine.failure ?? new OmicronError('assignment_refused', `This runner is ${machine.phase}.`);
      const parts = { assignment, redeemed, redactor: leaseRedactor, browser, work, profile, restored };
      const serve = () => (served = serveLease({ ...options, ...parts, onEnd: stop, signal: abort.signal }));
      const tabs = restored ?? profile?.tabs;
      if (tabs === undefined) onceAnswered(serve, isServed);
      else {
        const reopened = serve().reopenTabs(tabs);
        isServed();
        await reopened;
      }
      return { runner_id: runnerId, boot_id: bootId, session_id, epoch };
    } catch (error) {
      const known = error instanceof OmicronError;
      if (machine.fail(known ? error : new OmicronError('runner_start_failed', 'The assignment failed.'))) {
        void browser?.close();
        stopAfterGrace('the lease could not be served');
      }
      isServed();
      throw error;
    }
  }

  /** What serves a lease takes longer to make than all else here. A request that follows the answer waits for it. */
  function onceAnswered(serve: () => void, isServed: () => void): void {
    setImmediate(() => {
      try {
        if (machine.phase === 'leased') serve();
      } catch (error) {
        log.error({ err: error }, 'lease not served');
        stop('the lease could not be served', 1);
      }
      isServed();
    });
  }

  function stop(reason: string, exitCode = 0): void {
    if (!machine.enter('stopped', { reason })) return;
    beginEnd();
    closedToAgents = served?.close(reason) ?? Promise.resolve();
    shutDown(served, exitCode).catch((error: unknown) => {
      log.error({ err: error }, 'shutdown failed');
      end(1);
    });
  }

  /** Saves the profile, what was recorded, the last page and what happened, once no agent is served any more. */
  async function shutDown(lease: ServedLease | undefined, exitCode: number): Promise<void> {
    abort.abort();
    await closedToAgents;
    const late = new AbortController();
    const recorded = Promise.all([lease?.stopRecording(), lease?.keepLastPage()]);
    const unused = Promise.race([recorded, clock.sleep(RECORDING_MS, late.signal, true)]);
    await Promise.all([unused, lease?.closeProfile(unused)]);
    late.abort();
    const signal = AbortSignal.timeout(EVENTS_MS);
    await Promise.all([browser?.close(), options.forwarder?.close(), lease?.flushEvents(signal)]);
    end(exitCode);
  }

  return {
    bootId,
    ended,
    stopped,
    warm,
    assign,
    stop,
    isUnleased: () => assigned === undefined && machine.phase !== 'draining',
    async drain(token) {
      const { claims } = await verifyControllerToken(keys, audience, token, drainClaims);
      stop(claims.reason);
      await closedToAgents;
    },
    async saveProfile(token) {
      await verifyControllerToken(keys, audience, token, saveProfileClaims);
      await serving;
      if (served?.saveProfile === undefined)
        throw new OmicronError('lease_ended', 'This runner serves no lease with a profile.');
      return served.saveProfile();
    },
    async hibernate(token) {
      const { claims } = await verifyControllerToken(keys, audience, token, hibernateClaims);
      await serving;
      if (served === undefined || machine.phase !== 'leased')
        throw new OmicronError('lease_ended', 'This runner serves no lease.');
      await served.hibernate(claims);
    },
    async leave(reason) {
      if (served !== undefined && machine.phase === 'leased' && hibernates) {
        const late = clock.sleep(LEAVING_MS, abort.signal, true).catch(() => undefined);
        await Promise.race([served.hibernate({ why: 'node', idle_seconds: 0 }).catch(() => undefined), late]);
      }
      stop(reason);
    },
    async checkLogin(token) {
      const { claims } = await verifyControllerToken(keys, audience, token, checkLoginClaims);
      await serving;
      if (served === undefined || browser === undefined)
        throw new OmicronError('lease_ended', 'This runner serves no lease.');
      return checkLogin(browser.context, claims.page);
    },
    async endpoint(bearerToken = '') {
      if (assigned !== undefined && (await opensLease(bearerToken, assigned.assignment, { keys, nowMs: Date.now() }))) {
        await serving;
        if (served !== undefined) return served.endpoint;
        throw new OmicronError(
          'lease_ended',
          `${machine.failure?.message ?? 'This runner is stopping.'} Request a new lease.`,
        );
      }
      throw new OmicronError(
        'unauthorized',
        "The bearer token is not this runner's lease's; ask for the session again.",
      );
    },
    async files(token = '') {
      await verifyControllerToken(keys, audience, token, filesClaims);
      await serving;
      if (served === undefined || machine.phase === 'draining')
        throw new OmicronError('lease_ended', 'This runner serves no lease.');
      return served.files;
    },
    async liveView(token) {
      await serving;
      const lease = served;
      if (lease === undefined || machine.phase === 'draining')
        throw new OmicronError('lease_ended', 'This runner serves no lease.');
      const claims = await lease.admission.admit(token);
      if (lease.live.isFull())
        throw new OmicronError('capacity_exceeded', `The browser has ${LIVE_LIMITS.viewersMax} viewers already.`);
      return { claims, live: lease.live };
    },
    health: async () => ({ runner_id: runnerId, boot_id: bootId, ...(await healthOf(machine, browser)) }),
  };
}

/** Undefined: the lease has no profile. */
async function openLeaseProfile(
  { controller, clock, log, ...options }: RunnerOptions & Pick<ProfileOptions, 'browser' | 'restart'>,
  { options: { profile } }: Assignment,
  { leaseToken, secrets }: Redeemed,
  redactor: Redactor,
  signal: AbortSignal,
): Promise<OpenProfile | undefined> {
  if (profile === undefined) return undefined;
  const info = (message: string, details: Record<string, unknown>) => log.info(details, message);
  const holds = Object.keys(secrets).length === 0 ? undefined : redactor.holds;
  return openProfile({ ...options, profile, controller, leaseToken, holds, clock, info }, signal);
}

/** Everything that the first call of an agent needs, run once. */
async function warmBrowser(browser: RunnerBrowser, options: RunnerOptions): Promise<BrowserWork> {
  const { warmUp, log } = options;
  await warmUp(browser).catch((error: unknown) => log.warn({ err: error }, 'warm-up failed'));
  return workOf(browser, options);
}

const workOf = (browser: RunnerBrowser, { filesDir, log }: RunnerOptions): Promise<BrowserWork> =>
  browserWork({ browser, guard: guardPages(browser, what => log.warn(what)), filesDir });

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
