import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { type WebSocket, WebSocketServer } from 'ws';
import {
  type Assignment,
  assignmentClaims,
  drainClaims,
  type RedeemAnswer,
  redeemAnswer,
  signedToken,
} from '../../contract/assignment.ts';
import { type HibernationRequest, hibernateClaims, type SessionSnapshot } from '../../contract/hibernation.ts';
import { LIVE_CLOSE, LIVE_PROTOCOL } from '../../contract/live-limits.ts';
import { AUDIENCES } from '../../contract/names.ts';
import { OmicronError, PROBLEM_TYPE, PROBLEMS, problemSchema } from '../../contract/problem.ts';
import type { RunnerPhase } from '../../contract/states.ts';
import { type ControllerKeys, sha256Hex, verifyControllerToken } from '../../contract/tokens.ts';
import type { McpEndpoint } from '../../runner/mcp/endpoint.ts';

/** Steps at which a test may hold runners; each passes when it is let go. */
export type Point = 'warm' | 'assign' | 'redeem' | 'redeemed' | 'upload' | 'drain' | 'hibernate' | 'remove';

export interface RunnerWiring {
  id: string;
  keys: ControllerKeys;
  controllerUrl: () => string;
  /** Resolves when runners may pass this point. */
  pass: (point: Point) => Promise<void>;
  /** Thrown by the next assignment, once: before it redeems, or by what it does with what it redeemed. */
  nextFailure: (at: 'assign' | 'redeemed') => OmicronError | undefined;
  /** How long a redemption is tried while the controller says that it may succeed later. */
  patienceMs: number;
  onExit: (how: string) => void;
  /** The answers of its lease at `/mcp`; undefined: it only says whose lease it has. */
  mcp: (() => McpEndpoint) | undefined;
}

/**
 * A runner without a browser: a real HTTP server that checks orders as the real one does, redeems, keeps one assignment
 * for life, closes at its deadline, and hands its recording over when it ends.
 */
export class FakeRunner {
  readonly id: string;
  readonly bootId = randomUUID();
  endpoint = '';
  phase: RunnerPhase = 'launching';
  failure: OmicronError | undefined;
  /** How it ended; null while it runs. */
  exited: string | null = null;
  assignment: Assignment | null = null;
  /** The token from which the assignment was read; the broker takes it. */
  assignmentToken: string | null = null;
  /** The secrets that the broker handed over; null: it is unleased. */
  redeemed: RedeemAnswer | null = null;
  /** Its answer to an assignment does not arrive. */
  losesAnswers = false;
  /** How often it was ordered to drain. */
  drains = 0;
  /** Orders to hibernate that came. */
  hibernations = 0;
  #answer: Promise<unknown> | undefined;
  #hangs = false;
  #onUnanswered: (route: string) => void = () => {};
  #endpoint: McpEndpoint | undefined;
  readonly #viewers = new Set<WebSocket>();
  #uploaded = false;
  /** Passed on with the redemption, as a runner that traces does. */
  #trace: string | string[] | undefined;
  #deadline: NodeJS.Timeout | undefined;
  readonly #wiring: RunnerWiring;
  readonly #server = createServer((request, response) => void this.#serve(request, response));

  constructor(wiring: RunnerWiring) {
    this.id = wiring.id;
    this.#wiring = wiring;
  }

  /** On this machine alone unless another address of it is given. */
  async listen(host = '127.0.0.1', port = 0): Promise<void> {
    const live = new WebSocketServer({ noServer: true, handleProtocols: () => LIVE_PROTOCOL });
    this.#server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      if (request.url !== '/live') return void socket.destroy();
      live.handleUpgrade(request, socket, head, viewer => {
        this.#viewers.add(viewer);
        viewer.on('message', (data, isBinary) => viewer.send(data, { binary: isBinary }));
      });
    });
    this.#server.listen(port, host);
    await once(this.#server, 'listening');
    this.endpoint = `http://${host}:${(this.#server.address() as AddressInfo).port}`; // it listens on TCP
  }

  /** From now on it answers no request and calls `onUnanswered` for each, e.g. `POST /assign`; its process lives. */
  hang(onUnanswered: (route: string) => void = () => {}): void {
    this.#hangs = true;
    this.#onUnanswered = onUnanswered;
    this.#server.closeAllConnections();
  }

  /** Ends at once, as after `kill -9`. */
  kill(): void {
    this.#end('SIGKILL');
  }

  /** SIGTERM: no agent is served any more; its process ends. */
  stop(): void {
    if (this.exited !== null) return;
    this.phase = 'draining';
    this.#end('exit code 0');
  }

  #end(how: string): void {
    if (this.exited !== null) return;
    this.exited = how;
    clearTimeout(this.#deadline);
    for (const viewer of this.#viewers) viewer.close(LIVE_CLOSE.leaseEnded);
    this.#server.close();
    // an acknowledgement that is on its way still arrives; after kill -9 nothing does
    if (how === 'SIGKILL' || this.#hangs) this.#server.closeAllConnections();
    else this.#server.closeIdleConnections();
    this.#wiring.onExit(how);
  }

  /** Reports to the controller as this runner. */
  report(path: 'runner-activity' | 'runner-events' | 'runner-artifacts', body: unknown): Promise<Response> {
    const token = path === 'runner-artifacts' ? this.redeemed?.artifact_token : this.redeemed?.lease_token;
    return this.#post(path, token ?? '', body);
  }

  /** Sends what it recorded. True: nothing is left to send. */
  upload(): boolean {
    if (!this.redeemed || !this.assignment?.options.record_video || this.#uploaded) return true;
    void this.#wiring
      .pass('upload')
      .then(() =>
        this.report('runner-artifacts', {
          state: 'stored',
          name: 'tab-1.webm',
          uri: `file:///${this.id}.webm`,
          bytes: 1,
        }),
      )
      .catch(() => {})
      .finally(() => {
        this.#uploaded = true;
      });
    return false;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (this.#hangs) {
      this.#onUnanswered(`${request.method} ${request.url}`);
      return;
    }
    const send = (status: number, type: string, body: unknown) =>
      response.writeHead(status, { 'content-type': type }).end(JSON.stringify(body));
    try {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk);
      const mcp = request.url === '/mcp' ? this.#wiring.mcp : undefined;
      if (mcp) {
        await this.#mcp(/^Bearer (\S+)$/.exec(request.headers.authorization ?? '')?.[1]);
        this.#endpoint ??= mcp();
        await this.#endpoint.handle(request, response, JSON.parse(Buffer.concat(chunks).toString()));
        return;
      }
      const answer = await this.#route(`${request.method} ${request.url}`, request, Buffer.concat(chunks).toString());
      if (this.losesAnswers && request.url === '/assign') request.socket.destroy();
      else if (!this.#hangs) send(200, 'application/json', answer);
    } catch (error) {
      if (this.#hangs) return;
      const problem =
        error instanceof OmicronError
          ? error
          : new OmicronError('internal_error', 'The runner failed.', { cause: error });
      send(PROBLEMS[problem.code].status, PROBLEM_TYPE, problem.toProblem());
    }
  }

  async #route(route: string, request: IncomingMessage, body: string): Promise<unknown> {
    switch (route) {
      case 'GET /healthz':
        return this.#health();
      case 'POST /assign':
        this.#trace = request.headers.traceparent;
        return this.#assign(signedToken.parse(JSON.parse(body)).token);
      case 'POST /drain':
        return this.#drain(signedToken.parse(JSON.parse(body)).token);
      case 'POST /hibernate':
        return this.#hibernate(signedToken.parse(JSON.parse(body)).token);
      case 'POST /mcp':
        return this.#mcp(/^Bearer (\S+)$/.exec(request.headers.authorization ?? '')?.[1]);
      default:
        throw new OmicronError('route_not_found', 'A runner serves /assign, /drain, /healthz and /mcp.');
    }
  }

  #health() {
    const gate = { ok: true, detail: 'there is no browser' };
    const error = this.failure && { code: this.failure.code, detail: this.failure.message };
    const browser = { process: gate, protocol: gate };
    return { runner_id: this.id, boot_id: this.bootId, phase: this.phase, browser, ...(error ? { error } : {}) };
  }

  /** An agent may come before the runner has read what it redeemed. */
  async #mcp(token: string | undefined) {
    await this.#answer?.catch(() => undefined);
    if (this.phase !== 'leased' || !token || sha256Hex(token) !== this.assignment?.mcp_token_sha256)
      throw new OmicronError('unauthorized', "The bearer token is not this runner's lease's.");
    return { session_id: this.assignment.session_id, epoch: this.assignment.epoch };
  }

  async #verify<T extends Parameters<typeof verifyControllerToken>[3]>(token: string, schema: T) {
    const audience = AUDIENCES.runner(this.id, this.bootId);
    return (await verifyControllerToken(this.#wiring.keys, audience, token, schema)).claims;
  }

  async #assign(token: string): Promise<unknown> {
    await this.#wiring.pass('assign');
    const claims = await this.#verify(token, assignmentClaims);
    if (claims.runner_id !== this.id) throw new OmicronError('assignment_refused', 'It names another runner.');
    if (this.assignment?.jti === claims.jti) return this.#answer;
    if (this.assignment) throw new OmicronError('assignment_refused', 'This runner serves one lease only.');
    if (this.phase !== 'warm') throw new OmicronError('assignment_refused', `This runner is ${this.phase}.`);
    const failure = this.#wiring.nextFailure('assign');
    if (failure) throw failure;
    this.assignment = claims;
    this.assignmentToken = token;
    this.phase = 'assigning';
    this.#answer = this.#become(claims, token);
    return this.#answer;
  }

  async #become(claims: Assignment, token: string): Promise<unknown> {
    try {
      await this.#wiring.pass('redeem');
      this.redeemed = await this.#redeem(token);
      await this.#wiring.pass('redeemed');
      const failure = this.#wiring.nextFailure('redeemed');
      if (failure) throw failure;
    } catch (error) {
      this.phase = 'failed';
      this.failure = error instanceof OmicronError ? error : undefined;
      throw error;
    }
    this.phase = 'leased';
    this.#closeIn(this.redeemed.remaining_ms);
    return { runner_id: this.id, boot_id: this.bootId, session_id: claims.session_id, epoch: claims.epoch };
  }

  async #redeem(token: string): Promise<RedeemAnswer> {
    const giveUpMs = performance.now() + this.#wiring.patienceMs;
    const key = randomUUID();
    for (;;) {
      let error: OmicronError;
      try {
        const trace: Record<string, string> = typeof this.#trace === 'string' ? { traceparent: this.#trace } : {};
        const response = await this.#post('runner-secrets', token, {}, { 'idempotency-key': key, ...trace });
        if (response.ok) return redeemAnswer.parse(await response.json());
        error = OmicronError.fromProblem(problemSchema.parse(await response.json()));
      } catch (cause) {
        error = new OmicronError('controller_unreachable', 'The answer was lost.', { cause });
      }
      const later = error.code === 'predecessor_draining' || PROBLEMS[error.code].status === 503;
      if (!later || performance.now() > giveUpMs) throw error;
      await sleep(50);
    }
  }

  /** The runner does not rely on a message: at its deadline it asks once more, then closes. */
  #closeIn(remainingMs: number): void {
    this.#deadline = setTimeout(async () => {
      const answer = await this.report('runner-activity', { calls: 0 }).catch(() => null);
      const left = answer?.ok ? ((await answer.json()) as { remaining_ms: number }).remaining_ms : 0; // ActivityAnswer
      if (left > 0) this.#closeIn(left);
      else this.stop();
    }, remainingMs).unref();
  }

  async #drain(token: string): Promise<unknown> {
    await this.#verify(token, drainClaims);
    this.drains += 1;
    await this.#wiring.pass('drain');
    setImmediate(() => this.stop());
    this.phase = 'draining';
    return { acknowledged: true };
  }

  /** Brings the state of a browser without tabs, and ends. */
  async #hibernate(token: string): Promise<unknown> {
    const { why, idle_seconds } = await this.#verify(token, hibernateClaims);
    this.hibernations += 1;
    await this.#wiring.pass('hibernate');
    const snapshot: SessionSnapshot = { tabs: [], active: 0, state: null, tainted: false };
    const body: HibernationRequest = { why, idle_seconds, snapshot };
    const kept = await this.#send('PUT', 'runner-hibernation', this.redeemed?.lease_token ?? '', body);
    if (!kept.ok) throw OmicronError.fromProblem(problemSchema.parse(await kept.json()));
    setImmediate(() => this.stop());
    return { hibernated: true };
  }

  #post(path: string, token: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
    return this.#send('POST', path, token, body, headers);
  }

  #send(method: string, path: string, token: string, body: unknown, headers: Record<string, string> = {}) {
    return fetch(`${this.#wiring.controllerUrl()}/internal/${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
  }
}
