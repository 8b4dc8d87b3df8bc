import { randomUUID, timingSafeEqual } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import {
  type AssignAnswer,
  type Assignment,
  assignmentClaims,
  drainClaims,
  type RunnerHealth,
  type Toolset,
} from '../contract/assignment.ts';
import { AUDIENCES } from '../contract/names.ts';
import { OmicronError } from '../contract/problem.ts';
import type { RunnerPhase } from '../contract/states.ts';
import { type ControllerKeys, sha256Hex, verifyControllerToken } from '../contract/tokens.ts';
import type { RunnerBrowser } from './browser/browser.ts';
import type { EgressForwarder } from './browser/egress-forwarder.ts';
import { guardPages } from './browser/page-guard.ts';
import { openLease } from './lease.ts';
import { type BrowserTools, browserTools } from './mcp/browser-tools.ts';
import { type McpFront, mcpFront } from './mcp/endpoint.ts';
import { toolPolicy } from './mcp/tool-policy.ts';
import { NO_RECORDING, type Recording, startRecording } from './recording/recording.ts';
import { type Redeemed, redeem } from './redeem.ts';
import type { ControllerClient } from './reporting/controller-client.ts';
import { type EventQueue, eventQueue } from './reporting/events.ts';
import { type LeaseClock, leaseClock } from './reporting/lease-clock.ts';

/** One browser for one lease: warm, then leased, then thrown away. */
export interface Runner {
  readonly bootId: string;
  /** Launches the browser. Never rejects: what went wrong is the phase `failed`, read at /healthz. */
  warm(): Promise<void>;
  /** Makes this runner one lease's. The same assignment gets the same answer; any other is refused for good. */
  assign(token: string): Promise<AssignAnswer>;
  /** Obeys a signed order to stop; resolves when no agent is served any more. */
  drain(token: string): Promise<void>;
  /** Stops for a reason of this process's own; `ended` resolves when all is done. */
  stop(reason: string, exitCode?: number): void;
  /** The lease's front for this bearer token; throws `unauthorized` for anybody else. */
  front(bearerToken: string | undefined): McpFront;
  health(): Promise<RunnerHealth>;
  /** It serves nobody, and nobody has asked for it yet. */
  isUnleased(): boolean;
  /** Resolves at the first sign of the end. */
  readonly stopped: Promise<void>;
  /** The exit code, once everything was closed, finalised and sent. */
  readonly ended: Promise<number>;
}

export interface RunnerOptions {
  readonly runnerId: string;
  readonly keys: ControllerKeys;
  readonly controller: ControllerClient;
  readonly launch: () => Promise<RunnerBrowser>;
  /** Runs before the runner is warm; when it fails, the runner is only slower. */
  readonly rehearse: (browser: RunnerBrowser) => Promise<void>;
  /** The browser's way out, if it is given one: it gets the lease's credential. */
  readonly forwarder: EgressForwarder | undefined;
  /** Unless the lease asks for another. */
  readonly toolset: Toolset;
  readonly insecureLoginOrigins: readonly string[];
  readonly outputDir: string;
  readonly filesDir: string;
  readonly ffmpeg: string;
  readonly log: Logger;
}

interface Served {
  readonly front: McpFront;
  readonly clock: LeaseClock;
  readonly events: EventQueue;
  readonly recording: Recording;
}

/** What finalising may take; with the browser's own end it fits into the 10 s after which the process goes. */
const RECORDING_MS = 5_000;
const EVENTS_MS = 2_000;
/** After its browser's death a runner tells its agents so for a moment, then makes room for the next epoch. */
const CRASH_GRACE_MS = 5_000;

/** Builds a runner; `warm()` starts it. */
export function createRunner(options: RunnerOptions): Runner {
  const { runnerId, keys, controller, log } = options;
  const bootId = randomUUID();
  const audience = AUDIENCES.runner(runnerId, bootId);
  const { promise: ended, resolve: end } = Promise.withResolvers<number>();
  const { promise: stopped, resolve: beginEnd } = Promise.withResolvers<void>();
  const abort = new AbortController();
  let phase: RunnerPhase = 'launching';
  let failure: OmicronError | undefined;
  let browser: RunnerBrowser | undefined;
  let tools: BrowserTools | undefined;
  let assigned: { assignment: Assignment; answer: Promise<AssignAnswer> } | undefined;
  let served: Served | undefined;
  let stopping: Promise<void> | undefined;

  const enter = (next: RunnerPhase, details: Record<string, unknown> = {}) => {
    log.info({ phase: next, was: phase, session_id: assigned?.assignment.session_id, ...details }, 'phase');
    phase = next;
  };

  const fail = (error: OmicronError) => {
    if (phase === 'draining') return;
    failure = error;
    enter('failed', { code: error.code, detail: error.message });
  };

  async function warm(): Promise<void> {
    try {
      browser = await options.launch();
      await options.rehearse(browser).catch((error: unknown) => log.warn({ err: error }, 'the rehearsal failed'));
      const guard = guardPages(browser.context, what => log.warn(what));
      tools = await browserTools({ browser, guard, filesDir: options.filesDir });
      void browser.gone.then(onBrowserGone);
      if (phase === 'launching') enter('warm');
    } catch (cause) {
      fail(cause instanceof OmicronError ? cause : startError(cause, browser?.isGone() === true));
      await browser?.close();
    }
  }

  function onBrowserGone(): void {
    if (stopping !== undefined || phase === 'failed') return;
    const wasServed = served;
    fail(new OmicronError('browser_crashed', BROWSER_CRASHED));
    wasServed?.clock.stop();
    wasServed?.events.add('browser.crashed', { detail: 'the browser process ended' });
    void wasServed?.recording.stop();
    setTimeout(() => stop('the browser has stopped', 1), CRASH_GRACE_MS);
  }

  async function assign(token: string): Promise<AssignAnswer> {
    const { claims } = await verifyControllerToken(keys, audience, token, assignmentClaims);
    if (claims.runner_id !== runnerId)
      throw new OmicronError('assignment_refused', 'The assignment names another runner.');
    if (assigned !== undefined) {
      if (assigned.assignment.jti === claims.jti) return assigned.answer;
      throw new OmicronError('assignment_refused', 'This runner was already assigned, and serves one lease only.');
    }
    if (phase !== 'warm') throw failure ?? new OmicronError('assignment_refused', `This runner is ${phase}, not warm.`);
    const answer = become(claims, token);
    assigned = { assignment: claims, answer };
    enter('assigning', { epoch: claims.epoch });
    return answer;
  }

  async function become(assignment: Assignment, token: string): Promise<AssignAnswer> {
    try {
      const redeemed = await redeem(controller, token, abort.signal);
      if (phase !== 'assigning' || browser === undefined || tools === undefined)
        throw new OmicronError('assignment_refused', `This runner is ${phase}.`);
      const events = eventQueue({
        controller,
        tokens: [redeemed.lease_token, redeemed.artifact_token],
        warn: (message, details) => log.warn(details, message),
      });
      const policy = toolPolicy({
        policy: redeemed.policy,
        sessionId: assignment.session_id,
        fetch: () => controller.policy(redeemed.lease_token, abort.signal),
        onChange: () => served?.front.toolsChanged(),
        warn: (message, details) => log.warn(details, message),
      });
      const clock = leaseClock({
        controller,
        leaseToken: redeemed.lease_token,
        endsAtMs: redeemed.endsAtMs,
        onEnd: stop,
        onPolicyVersion: version => policy.seen(version),
        debug: (message, details) => log.debug(details, message),
      });
      const recording = record(assignment, redeemed, browser, events);
      options.forwarder?.lease({ runnerId, credential: redeemed.egress_credential });
      const { toolset, insecureLoginOrigins, forwarder } = options;
      const lease = openLease({
        ...{ assignment, redeemed, tools, clock, events, recording, policy, controller },
        ...{ toolset: assignment.options.toolset ?? toolset, insecureLoginOrigins, forwarder },
      });
      served = { front: mcpFront(lease), clock, events, recording };
      enter('leased', { epoch: assignment.epoch, remaining_ms: redeemed.remaining_ms });
      return { runner_id: runnerId, boot_id: bootId, session_id: assignment.session_id, epoch: assignment.epoch };
    } catch (error) {
      if (phase === 'assigning') {
        fail(error instanceof OmicronError ? error : new OmicronError('runner_start_failed', 'The assignment failed.'));
        void browser?.close();
      }
      throw error;
    }
  }

  function record(assignment: Assignment, redeemed: Redeemed, { context }: RunnerBrowser, events: EventQueue) {
    const { artifact_token, upload_credential } = redeemed;
    if (!assignment.options.record_video) return NO_RECORDING;
    return startRecording({
      context,
      ffmpeg: options.ffmpeg,
      outputDir: options.outputDir,
      order: {
        session_id: assignment.session_id,
        epoch: assignment.epoch,
        runner_id: runnerId,
        record_video: true,
        artifacts_prefix: assignment.artifacts_prefix,
        artifact_token,
        ...(upload_credential === undefined ? {} : { upload_credential }),
      },
      onStopped: details => {
        log.warn(details, 'recording stopped');
        events.add('recording.stopped', details);
      },
    });
  }

  /** Serving has ended; what was recorded and noted is saved. */
  async function shutDown({ clock, events, recording }: Partial<Served>, exitCode: number): Promise<void> {
    abort.abort();
    clock?.stop();
    await closedToAgents;
    await within(RECORDING_MS, recording?.stop());
    await Promise.all([browser?.close(), options.forwarder?.close(), events?.flush(AbortSignal.timeout(EVENTS_MS))]);
    end(exitCode);
  }

  let closedToAgents: Promise<void> = Promise.resolve();
  function stop(reason: string, exitCode = 0): void {
    if (stopping !== undefined) return;
    beginEnd();
    enter('draining', { reason });
    const ending: Partial<Served> = served ?? {};
    served = undefined;
    closedToAgents = ending.front?.close() ?? Promise.resolve();
    stopping = shutDown(ending, exitCode).catch((error: unknown) => {
      log.error({ err: error }, 'the end did not go well');
      end(1);
    });
  }

  return {
    bootId,
    ended,
    stopped,
    warm,
    assign,
    stop,
    isUnleased: () => assigned === undefined && stopping === undefined,
    async drain(token) {
      const { claims } = await verifyControllerToken(keys, audience, token, drainClaims);
      stop(claims.reason);
      await closedToAgents;
    },
    front(bearerToken) {
      const expected = assigned?.assignment.mcp_token_sha256;
      if (served === undefined || expected === undefined || !sameDigest(bearerToken, expected))
        throw new OmicronError(
          'unauthorized',
          "The bearer token is not this runner's lease's; ask for the session again.",
        );
      return served.front;
    },
    async health() {
      const nothing = { ok: false, detail: 'not started yet' };
      const gates = (await browser?.gates()) ?? { process: nothing, protocol: nothing };
      const shut = !gates.process.ok || !gates.protocol.ok;
      return {
        runner_id: runnerId,
        boot_id: bootId,
        phase,
        browser: gates,
        ...(shut ? { log: browser?.lastLines() ?? [] } : {}),
        ...(failure === undefined ? {} : { error: { code: failure.code, detail: failure.message } }),
      };
    },
  };
}

const BROWSER_CRASHED = 'The browser process exited. Request a new lease; it gets a new browser.';

const startError = (cause: unknown, crashed: boolean): OmicronError =>
  crashed
    ? new OmicronError('browser_crashed', BROWSER_CRASHED, { cause })
    : new OmicronError('runner_start_failed', 'The browser did not become ready; read the log.', { cause });

const sameDigest = (token: string | undefined, expectedHex: string): boolean =>
  token !== undefined && timingSafeEqual(Buffer.from(sha256Hex(token)), Buffer.from(expectedHex));

const within = (ms: number, work: Promise<void> | undefined): Promise<void> =>
  Promise.race([work, delay(ms, undefined, { ref: false })]);
