import type { Socket } from 'node:net';
import type { EgressClient, EgressGrant } from '../contract/egress.ts';
import type { LeaseKey } from '../contract/lease-key.ts';
import { compileSites, type SiteJudge, type SiteRequest } from '../contract/policy/sites.ts';
import type { ProxyRefusal } from './refusal.ts';

export interface LeaseLimits {
  /** Connections to sites that may be open at once, and as many of clients, idle ones included. */
  readonly connectionsMax: number;
  /** Bytes in both directions over the whole lease. */
  readonly bytesMax: number;
}

/** A client's connection that counts for a lease. */
export interface LeaseClient {
  readonly socket: Socket;
  /** Requests, tunnels and websockets that have not ended. */
  busy: number;
}

/** One connection of a lease, from before the name lookup to the last byte. */
export interface Slot {
  /** Aborts when the lease ends, its policy no longer allows this, or its bytes are spent. */
  readonly signal: AbortSignal;
  /** Refuse the tunnel unless it begins with TLS. */
  readonly tlsOnly: boolean;
  /** The tunnel began with TLS, so a policy that asks for it later lets it stay. */
  tlsBegan(): void;
  /** Sets how the bytes transferred so far are read. */
  countBy(bytes: () => number): void;
  /** An idle connection is closed when its lease needs the slot. */
  setIdle(idle: boolean): void;
  /** Call once, when the connection has ended. */
  release(): void;
}

interface Open {
  readonly request: SiteRequest;
  readonly abort: AbortController;
  /** It carries TLS, or will be refused: a policy that allows https only changes nothing for it. */
  encrypted: boolean;
  idle: boolean;
  bytes: () => number;
}

/** The proxy's view of one lease, and its open connections. Times are this process's monotonic milliseconds. */
export class EgressLease {
  readonly key: LeaseKey;
  readonly client: EgressClient;
  version = '';
  sites: SiteJudge = () => ({
    allowed: false,
    code: 'site_not_allowed',
    layer: null,
    rule: null,
    reason: 'no policy has been loaded',
  });
  /** When the controller last confirmed this lease. */
  confirmedMs = 0;
  endsMs = 0;
  ended = false;
  /** The clients' connections that count for this lease. */
  readonly clients = new Set<LeaseClient>();
  readonly #limits: LeaseLimits;
  readonly #open = new Set<Open>();
  #closedBytes = 0;

  constructor(grant: EgressGrant, limits: LeaseLimits, nowMs: number) {
    this.key = { session_id: grant.session_id, epoch: grant.epoch, runner_id: grant.runner_id };
    this.client = grant.client;
    this.#limits = limits;
    this.adopt(grant, nowMs);
  }

  get connectionsMax(): number {
    return this.#limits.connectionsMax;
  }

  get bytes(): number {
    let sum = this.#closedBytes;
    for (const { bytes } of this.#open) sum += bytes();
    return sum;
  }

  /** Takes a new grant; connections that the new rules forbid are closed. */
  adopt(grant: EgressGrant, nowMs: number): void {
    this.confirm(grant.remaining_ms, nowMs);
    if (grant.version === this.version) return;
    this.version = grant.version;
    this.sites = compileSites(grant.layers);
    for (const open of this.#open) {
      const verdict = this.sites(open.request);
      if (!verdict.allowed || (verdict.tlsOnly && !open.encrypted)) open.abort.abort();
    }
  }

  confirm(remainingMs: number, nowMs: number): void {
    this.confirmedMs = nowMs;
    this.endsMs = nowMs + remainingMs;
  }

  admit(request: SiteRequest): Slot | ProxyRefusal {
    if (this.ended) return { refused: 'credential_refused' };
    if (this.#open.size >= this.#limits.connectionsMax && !this.#closeIdle())
      return { refused: 'too_many_connections' };
    if (this.#closedBytes >= this.#limits.bytesMax) return { refused: 'bytes_exhausted' };
    const verdict = this.sites(request);
    const tlsOnly = verdict.allowed && verdict.tlsOnly;
    const open: Open = { request, abort: new AbortController(), encrypted: tlsOnly, idle: false, bytes: () => 0 };
    this.#open.add(open);
    return {
      signal: open.abort.signal,
      tlsOnly,
      tlsBegan: () => {
        open.encrypted = true;
      },
      countBy: bytes => {
        open.bytes = bytes;
      },
      setIdle: idle => {
        open.idle = idle;
      },
      release: () => this.#release(open),
    };
  }

  /** Closes every connection when the bytes are spent; called a few times a second. */
  enforceBytes(): void {
    if (this.bytes < this.#limits.bytesMax) return;
    this.#closeAll();
  }

  /** Closes every connection and admits no more. */
  end(): void {
    this.ended = true;
    this.#closeAll();
    for (const { socket } of this.clients) socket.destroy();
  }

  #release(open: Open): void {
    if (this.#open.delete(open)) this.#closedBytes += open.bytes();
  }

  /** False: every connection is in use. */
  #closeIdle(): boolean {
    for (const open of this.#open) {
      if (!open.idle) continue;
      this.#release(open); // now, not when the socket has closed
      open.abort.abort();
      return true;
    }
    return false;
  }

  #closeAll(): void {
    for (const { abort } of this.#open) abort.abort();
  }
}
