import { OmicronError } from '../contract/problem.ts';
import type { HeartbeatAnswer, LeaseAnswer, Session } from '../contract/session.ts';
import type { Clock } from '../time/clock.ts';
import { connectBrowser } from './connect.ts';
import type { ChosenProfile, ConnectedBrowser, LeasedBrowser } from './leased-browser.ts';
import { mayRetry, waitMs } from './retry.ts';

/** The answer of get-or-create once its browser is ready. */
export type ReadyLease = LeaseAnswer & { mcp_url: string; mcp_headers: Record<string, string> };

/** The API that a lease calls; each bound to its session and epoch. */
export interface LeaseApi {
  heartbeat(signal: AbortSignal): Promise<HeartbeatAnswer>;
  release(): Promise<Session>;
  end(): Promise<Session>;
  /** Asks for the browser that the session has now, or that of a hibernated one: a new epoch. `choice`: from now on with this profile. */
  restore(signal: AbortSignal, choice?: ChosenProfile): Promise<{ answer: ReadyLease; calls: LeaseApi }>;
}

export interface LeaseInit {
  answer: ReadyLease;
  calls: LeaseApi;
  ttlSeconds: number;
  /** Monotonic time before the request was sent that this lease answers. */
  renewedAtMs: number;
  onLost: ((error: OmicronError) => void) | undefined;
  clock: Clock;
  fetch: typeof globalThis.fetch;
}

/** Node.js asks an object for what `console.log` shows of it: <https://nodejs.org/api/util.html#utilinspectcustom>. */
const INSPECT: unique symbol = Symbol.for('nodejs.util.inspect.custom');

/** Two heartbeats in a row may fail without the lease being lost. */
const HEARTBEATS_PER_TTL = 3;

/**
 * A session's hold on its browser. Until it is released, ended or lost, heartbeats run by themselves; they do not keep the
 * process alive.
 */
export class Lease implements LeasedBrowser {
  readonly sessionId: string;
  /** The present epoch: a browser that was hibernated comes back in another epoch, at another address. */
  epoch: number;
  mcpUrl: string;
  /** The present headers: a heartbeat may bring others. */
  headers: Readonly<Record<string, string>>;
  readonly #options: LeaseInit;
  readonly #over = new AbortController();
  #calls: LeaseApi;
  #isHibernated = false;
  #isSwitching = false;
  #restoring: Promise<boolean> | undefined;
  #expiresAt: Date;
  #endsAt: Date;
  #renewedAtMs: number;
  #ended: Promise<void> | undefined;

  constructor(options: LeaseInit) {
    const { answer } = options;
    this.sessionId = answer.session_id;
    this.epoch = answer.epoch;
    this.mcpUrl = answer.mcp_url;
    this.headers = answer.mcp_headers;
    this.#options = options;
    this.#calls = options.calls;
    this.#expiresAt = new Date(answer.expires_at);
    this.#endsAt = new Date(answer.ends_at);
    this.#renewedAtMs = options.renewedAtMs;
    this.#keepAlive().catch(() => {}); // it stops by `release`, `end` or #lose, which has reported why
  }

  get signal(): AbortSignal {
    return this.#over.signal;
  }

  /** When the lease ends unless it is used, by the database's clock. */
  get expiresAt(): Date {
    return this.#expiresAt;
  }

  /** When the lease ends whatever happens (S4), by the database's clock. */
  get endsAt(): Date {
    return this.#endsAt;
  }

  /** Moves the expiry, but that of a hibernated session. Throws `lease_superseded` or `lease_ended` when the lease is lost; `signal` has aborted then. */
  async heartbeat(): Promise<void> {
    this.signal.throwIfAborted();
    const { clock } = this.#options;
    const { epoch } = this;
    const sentAtMs = clock.nowMs();
    try {
      const answer = await this.#calls.heartbeat(this.signal);
      if (epoch !== this.epoch) return; // it came back meanwhile
      this.#isHibernated = answer.status === 'hibernated';
      this.#renewedAtMs = Math.max(this.#renewedAtMs, sentAtMs);
      this.headers = answer.mcp_headers ?? this.headers;
      this.#expiresAt = new Date(answer.expires_at);
      this.#endsAt = new Date(answer.ends_at);
    } catch (error) {
      if (this.#isSwitching) this.#renewedAtMs = sentAtMs; // the switch renews it
      if (epoch !== this.epoch || this.#isSwitching) return;
      if (error instanceof OmicronError && !mayRetry(error)) this.#lose(error);
      throw error;
    }
  }

  /** Without headers and address: either may hold the token. */
  [INSPECT](): object {
    return { sessionId: this.sessionId, epoch: this.epoch, expiresAt: this.#expiresAt, endsAt: this.#endsAt };
  }

  restore(): Promise<boolean> {
    if (!this.#isHibernated) return Promise.resolve(false);
    this.#restoring ??= this.#restore().finally(() => {
      this.#restoring = undefined;
    });
    return this.#restoring;
  }

  async followSwitch<T>(call: () => Promise<T>, chosen: (answer: T) => ChosenProfile | undefined): Promise<T> {
    this.#isSwitching = true;
    try {
      const answer = await call();
      const choice = chosen(answer);
      if (choice !== undefined) await this.#restore(choice);
      return answer;
    } finally {
      this.#isSwitching = false;
    }
  }

  connect(): Promise<ConnectedBrowser<this>> {
    return connectBrowser(this, this.#options.fetch);
  }

  async release(): Promise<void> {
    if (this.signal.aborted) return;
    this.#over.abort(new OmicronError('lease_released', 'The lease was released; acquire it again.'));
    await this.#calls.release().catch(() => {}); // it is not renewed any more, so it idles out all the same
  }

  end(): Promise<void> {
    this.#ended ??= this.#end();
    return this.#ended;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.release();
  }

  async #restore(choice?: ChosenProfile): Promise<true> {
    const sentAtMs = this.#options.clock.nowMs();
    const { answer, calls } = await this.#calls.restore(this.signal, choice);
    this.#calls = calls;
    this.#isHibernated = false;
    this.epoch = answer.epoch;
    this.mcpUrl = answer.mcp_url;
    this.headers = answer.mcp_headers;
    this.#expiresAt = new Date(answer.expires_at);
    this.#endsAt = new Date(answer.ends_at);
    this.#renewedAtMs = sentAtMs;
    return true;
  }

  async #end(): Promise<void> {
    this.#over.abort(new OmicronError('lease_ended', 'The lease was ended; acquire a new one.'));
    try {
      await this.#calls.end();
    } catch (error) {
      // a newer lease of the session exists, so this one has ended
      if (error instanceof OmicronError && error.code === 'lease_superseded') return;
      this.#ended = undefined;
      throw error;
    }
  }

  async #keepAlive(): Promise<void> {
    const { clock, ttlSeconds } = this.#options;
    const ttlMs = ttlSeconds * 1000;
    for (let failures = 0; !this.signal.aborted; ) {
      const untilNextMs = this.#renewedAtMs + ttlMs / HEARTBEATS_PER_TTL - clock.nowMs();
      if (failures === 0 && untilNextMs > 0) {
        await clock.sleep(untilNextMs, this.signal, true);
        continue; // the owner may have sent a heartbeat meanwhile
      }
      try {
        await this.heartbeat();
        failures = 0;
      } catch (error) {
        if (this.signal.aborted || !(error instanceof OmicronError)) throw error;
        const leftMs = this.#renewedAtMs + ttlMs - clock.nowMs();
        if (leftMs <= 0) return this.#lose(error);
        await clock.sleep(Math.min(waitMs(error, failures++, clock), leftMs), this.signal, true);
      }
    }
  }

  #lose(error: OmicronError): void {
    if (this.signal.aborted) return;
    this.#over.abort(error);
    this.#options.onLost?.(error);
  }
}
