import { Agent } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { EgressLease, Slot } from './lease.ts';
import type { Destination } from './target.ts';

/** A connection to a site that may serve one plain request after another. */
export interface KeptConnection {
  readonly target: Destination;
  readonly socket: Socket;
  /** The address that was judged and dialled. */
  readonly address: string;
  readonly slot: Slot;
  /** Sends requests over this connection alone, one at a time. */
  readonly agent: Agent;
}

/** Shorter than most sites keep theirs, so that few requests meet a connection that is being closed. */
const IDLE_MS = 10_000;
/** As many as a browser opens to a site at once. */
const IDLE_PER_SITE = 6;

/**
 * The idle connections of plain requests, of each lease its own. An idle connection keeps its slot: the end of the lease, its
 * bytes and a policy that forbids the site close it like a busy one. A lease that is out of slots takes it back. node:http closes
 * an idle connection on which anything arrives, so that bytes sent ahead answer no request.
 */
export class KeptConnections {
  readonly #idle = new WeakMap<EgressLease, Set<KeptConnection>>();

  /** The lease's idle connection to this site, at one of the addresses that were judged for this request. */
  take(lease: EgressLease, target: Destination, addresses: readonly string[]): KeptConnection | undefined {
    const idle = this.#of(lease);
    const kept = [...idle].findLast(
      each => isSame(each.target, target) && addresses.includes(each.address) && !each.socket.destroyed,
    );
    if (!kept) return undefined;
    idle.delete(kept);
    kept.slot.setIdle(false);
    return kept;
  }

  /** Makes a connection reusable: it is idle each time that an exchange on it has ended cleanly. */
  hold(lease: EgressLease, connection: Omit<KeptConnection, 'agent'>): KeptConnection {
    const idle = this.#of(lease);
    const { socket, slot, target } = connection;
    const agent = new OneConnection(socket, () => {
      const others = [...idle].filter(each => isSame(each.target, target));
      if (others.length >= IDLE_PER_SITE || slot.signal.aborted) return false;
      idle.add(kept);
      slot.setIdle(true);
      return true;
    });
    const kept = { ...connection, agent };
    socket.once('close', () => idle.delete(kept));
    return kept;
  }

  #of(lease: EgressLease): Set<KeptConnection> {
    const idle = this.#idle.get(lease) ?? new Set();
    this.#idle.set(lease, idle);
    return idle;
  }
}

const isSame = (a: Destination, b: Destination): boolean => a.host === b.host && a.port === b.port;

/** node:http's pool of one connection; `onIdle` says whether it is kept. */
class OneConnection extends Agent {
  readonly #socket: Socket;
  readonly #onIdle: () => boolean;

  constructor(socket: Socket, onIdle: () => boolean) {
    super({ keepAlive: true, maxSockets: 1, timeout: IDLE_MS });
    this.#socket = socket;
    this.#onIdle = onIdle;
  }

  override createConnection(): Duplex {
    return this.#socket;
  }

  override keepSocketAlive(socket: Duplex): boolean {
    const kept: unknown = super.keepSocketAlive(socket); // a boolean, which its type does not say
    return kept !== false && this.#onIdle();
  }
}
