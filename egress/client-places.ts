import type { Socket } from 'node:net';
import type { EgressLease, LeaseClient } from './lease.ts';
import type { ProxyRefusal } from './refusal.ts';

interface ClientPlace extends LeaseClient {
  readonly peer: string;
  /** None until a request was authorized. */
  lease: EgressLease | undefined;
  readonly timer: NodeJS.Timeout;
}

/** Why a place was taken back: no credential yet and the peer's or all such places full, or too slow; idle; unfair. */
export type TakenBack = 'unauthenticated' | 'late' | 'idle' | 'share';

/** Connections of one peer without a lease. A runner's browser has 32 at a proxy: `kMaxProxySockets` of Chromium. */
const UNAUTHENTICATED_PER_PEER = 1000;
/** A head is at most 64 KiB, so these may take 128 MiB. */
const UNAUTHENTICATED_MAX = 2000;
/** Requests that one connection may send ahead of their answers; browsers do not. */
const PIPELINED_MAX = 32;

/**
 * The client connections of this process. Those without a lease have places of their own, so none of them holds a place that a
 * lease needs; those of a lease count as long as they are open, idle or not. When places run out, the oldest of those that can
 * be spared is closed: first one that has not said who it is, then an idle one, then one of the lease that holds the most.
 */
export class ClientPlaces {
  readonly #leasedMax: number;
  readonly #headMs: number;
  readonly #onTakenBack: (reason: TakenBack) => void;
  readonly #places = new Map<Socket, ClientPlace>();
  readonly #strangers = new Map<string, Set<ClientPlace>>();
  readonly #leases = new Set<EgressLease>();
  /** Connections of all leases, the longest idle first. */
  readonly #idle = new Set<ClientPlace>();
  #strangersCount = 0;

  constructor(options: { leasedMax: number; headMs: number; onTakenBack: (reason: TakenBack) => void }) {
    this.#leasedMax = options.leasedMax;
    this.#headMs = options.headMs;
    this.#onTakenBack = options.onTakenBack;
  }

  get counts(): { unauthenticated: number; idle: number; busy: number } {
    const leased = this.#places.size - this.#strangersCount;
    return { unauthenticated: this.#strangersCount, idle: this.#idle.size, busy: leased - this.#idle.size };
  }

  /** A client has connected. */
  enter(socket: Socket): void {
    const peer = socket.remoteAddress ?? '';
    const ofPeer = this.#strangers.get(peer);
    if (ofPeer && ofPeer.size >= UNAUTHENTICATED_PER_PEER) this.#takeBackStranger(ofPeer);
    else if (this.#strangersCount >= UNAUTHENTICATED_MAX) this.#takeBackStranger(findLargest(this.#strangers.values()));
    const timer = setTimeout(() => this.#takeBack(place, 'late'), this.#headMs);
    const place: ClientPlace = { socket, peer, lease: undefined, busy: 0, timer };
    this.#places.set(socket, place);
    const others = this.#strangers.get(peer);
    if (others) others.add(place);
    else this.#strangers.set(peer, new Set([place]));
    this.#strangersCount += 1;
    socket.once('close', () => this.#leave(place));
  }

  /** A request's head is whole. False when the client has sent too many ahead: close it. */
  begin(socket: Socket): boolean {
    const place = this.#places.get(socket);
    if (!place || place.busy >= PIPELINED_MAX) return false;
    place.busy += 1;
    this.#idle.delete(place);
    return true;
  }

  /** A request has been answered. */
  finish(socket: Socket): void {
    const place = this.#places.get(socket);
    if (!place) return;
    place.busy -= 1;
    if (place.busy > 0 || !place.lease) return;
    this.#idle.add(place);
    place.lease.clients.delete(place);
    place.lease.clients.add(place); // the longest idle come first
  }

  /** Gives the client one of its lease's places. Refused when the lease, or the whole proxy, has none to spare. */
  claim(socket: Socket, lease: EgressLease): ProxyRefusal | undefined {
    const place = this.#places.get(socket);
    if (!place || lease.ended) return { refused: 'credential_refused' };
    if (place.lease === lease) return undefined;
    if (lease.clients.size >= lease.connectionsMax && !this.#takeBackIdle(lease.clients))
      return { refused: 'too_many_connections' };
    const isFull = place.lease === undefined && this.#places.size - this.#strangersCount >= this.#leasedMax;
    if (isFull && !this.#takeBackIdle(this.#idle) && !this.#takeBackShare(lease)) return { refused: 'proxy_full' };
    this.#unlist(place);
    clearTimeout(place.timer);
    place.lease = lease;
    lease.clients.add(place);
    this.#leases.add(lease);
    return undefined;
  }

  closeAll(): void {
    for (const socket of this.#places.keys()) socket.destroy();
  }

  /** Takes back the oldest connection without a lease, if possible one that nothing is being looked up for. */
  #takeBackStranger(places: ReadonlySet<ClientPlace>): void {
    const place = findFirst(places, ({ busy }) => busy === 0) ?? findFirst(places, () => true);
    if (place) this.#takeBack(place, 'unauthenticated');
  }

  #takeBackIdle(places: ReadonlySet<LeaseClient>): boolean {
    const place = findFirst(places, ({ busy }) => busy === 0);
    if (place) this.#takeBack(place, 'idle');
    return place !== undefined;
  }

  /** All places are busy: the lease that holds the most gives one up, unless the one that asks would then hold as many. */
  #takeBackShare(asking: EgressLease): boolean {
    const places = findLargest([...this.#leases].map(({ clients }) => clients));
    const place = places.size > asking.clients.size + 1 ? findFirst(places, () => true) : undefined;
    if (place) this.#takeBack(place, 'share');
    return place !== undefined;
  }

  #takeBack({ socket }: LeaseClient, reason: TakenBack): void {
    const place = this.#places.get(socket);
    if (place) this.#leave(place); // now, not when the socket has closed: another needs it
    this.#onTakenBack(reason);
    socket.destroy();
  }

  #leave(place: ClientPlace): void {
    if (!this.#places.delete(place.socket)) return;
    clearTimeout(place.timer);
    this.#idle.delete(place);
    this.#unlist(place);
  }

  /** Takes a place out of the list of its lease, or of its peer. */
  #unlist(place: ClientPlace): void {
    const { lease, peer } = place;
    if (lease) {
      lease.clients.delete(place);
      if (lease.clients.size === 0) this.#leases.delete(lease);
      return;
    }
    const ofPeer = this.#strangers.get(peer);
    if (ofPeer?.delete(place)) this.#strangersCount -= 1;
    if (ofPeer?.size === 0) this.#strangers.delete(peer);
  }
}

function findFirst<T>(items: Iterable<T>, fits: (item: T) => boolean): T | undefined {
  for (const item of items) if (fits(item)) return item;
  return undefined;
}

function findLargest<T>(sets: Iterable<ReadonlySet<T>>): ReadonlySet<T> {
  let most: ReadonlySet<T> = new Set();
  for (const set of sets) if (set.size > most.size) most = set;
  return most;
}
