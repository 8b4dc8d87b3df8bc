import type { Agent } from 'node:http';
import type { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { EgressDenial } from '../contract/egress.ts';
import type { LeaseKey } from '../contract/lease-key.ts';
import type { SiteRequest } from '../contract/policy/sites.ts';
import type { AddressPolicy } from './address-policy.ts';
import type { ClientPlaces } from './client-places.ts';
import { inConnectionSpan } from './connection-span.ts';
import type { Dialer } from './dial.ts';
import type { DenialReporter } from './events.ts';
import { KeptConnections } from './kept-connections.ts';
import type { EgressLease, Slot } from './lease.ts';
import type { LeaseRegistry } from './lease-registry.ts';
import type { EgressMetrics } from './metrics.ts';
import { isRefusal, type ProxyRefusal } from './refusal.ts';
import type { Destination } from './target.ts';

/** A connection to a site whose address passed the checks. */
export interface OutboundConnection {
  readonly socket: Socket;
  readonly slot: Pick<Slot, 'signal' | 'tlsOnly' | 'tlsBegan'>;
  readonly lease: LeaseKey;
  /** For a plain request: sends it over this connection, and keeps the connection for the next one. */
  readonly agent?: Agent;
  /** It has served a request before, so the site may be closing it. */
  readonly reused?: boolean;
}

export interface OutboundConnections {
  /**
   * Authenticates the client, applies the lease's policy, resolves and checks the name, and connects; a request that may reuse
   * a connection gets a kept one, to an address that this very check allowed.
   */
  open(wanted: OutboundRequest): Promise<OutboundConnection | ProxyRefusal>;
  /** Counts a refusal. One that comes after `open` succeeded also takes the lease, and is reported as a denial. */
  countRefusal(wanted: OutboundRequest, refusal: ProxyRefusal, lease?: LeaseKey): void;
  /** How long a client may take to begin the TLS that a policy asks for. */
  readonly headMs: number;
}

export interface OutboundRequest {
  readonly authorization: string | undefined;
  /** The header `proxy-traceparent`. */
  readonly traceparent?: unknown;
  readonly target: Destination;
  readonly method: EgressDenial['method'];
  readonly client: Socket;
  /** Aborts when the client disconnects. */
  readonly clientClosed: AbortSignal;
  /** A plain request that could be sent again if a kept connection turns out to be closed. */
  readonly mayReuse?: boolean;
}

export function outboundConnections(options: {
  leases: LeaseRegistry;
  places: ClientPlaces;
  addresses: AddressPolicy;
  dialer: Dialer;
  reporter: DenialReporter;
  metrics: EgressMetrics;
  idleMs: number;
  headMs: number;
}): OutboundConnections {
  const { leases, places, addresses, dialer, reporter, metrics, idleMs, headMs } = options;
  const kept = new KeptConnections();

  const connect = async (
    wanted: OutboundRequest,
    slot: Slot,
    scheme: SiteRequest['scheme'],
    lease: EgressLease,
  ): Promise<OutboundConnection | ProxyRefusal> => {
    const cancel = new AbortController();
    const stop = () => cancel.abort();
    slot.signal.addEventListener('abort', stop, { once: true });
    wanted.clientClosed.addEventListener('abort', stop, { once: true });
    const allowed = await addresses.check(wanted.target, scheme, lease.sites, cancel.signal);
    if (isRefusal(allowed)) return allowed;
    if (wanted.mayReuse) {
      await nextTurn(); // what has arrived on an idle connection is read now, and closes it
      const idle = cancel.signal.aborted ? undefined : kept.take(lease, wanted.target, allowed.addresses);
      if (idle) {
        slot.release();
        idle.socket.setTimeout(idleMs);
        return { ...idle, lease: lease.key, reused: true };
      }
    }
    const startedMs = performance.now();
    const dialed = await dialer.dial(allowed.addresses, wanted.target.port, cancel.signal);
    metrics.dialSeconds.observe((performance.now() - startedMs) / 1000);
    if (isRefusal(dialed)) return dialed;
    const { socket } = dialed;
    if (slot.signal.aborted || wanted.clientClosed.aborted) {
      socket.destroy();
      return { refused: 'credential_refused' };
    }
    wanted.clientClosed.removeEventListener('abort', stop);
    socket.on('error', () => {}); // users of the socket act on 'close'
    slot.countBy(() => socket.bytesRead + socket.bytesWritten);
    slot.signal.addEventListener('abort', () => socket.destroy(), { once: true });
    socket.setTimeout(idleMs);
    metrics.connections.inc();
    socket.once('close', () => {
      metrics.connections.dec();
      metrics.bytes.inc({ direction: 'in' }, socket.bytesRead);
      metrics.bytes.inc({ direction: 'out' }, socket.bytesWritten);
      slot.release();
    });
    if (wanted.method !== 'http') return { socket, slot, lease: lease.key };
    return { ...kept.hold(lease, { ...dialed, slot, target: wanted.target }), lease: lease.key };
  };

  const openFor = async (wanted: OutboundRequest, lease: EgressLease): Promise<OutboundConnection | ProxyRefusal> => {
    const scheme = wanted.method === 'connect' ? 'tunnel' : 'http';
    const site = { scheme, host: wanted.target.host, port: wanted.target.port } as const;
    const slot = places.claim(wanted.client, lease) ?? lease.admit(site);
    const outcome = isRefusal(slot) ? slot : await connect(wanted, slot, scheme, lease);
    if (isRefusal(outcome)) {
      if (!isRefusal(slot)) slot.release();
      reporter.record(lease.key, wanted.method, wanted.target, outcome);
    } else metrics.requests.inc({ method: wanted.method, outcome: 'let_through' });
    return outcome;
  };

  return {
    headMs,
    async open(wanted) {
      const lease = await leases.authorize(wanted.authorization, wanted.client.remoteAddress ?? '');
      if (isRefusal(lease)) return lease;
      return inConnectionSpan(wanted, lease.key, () => openFor(wanted, lease));
    },
    countRefusal(wanted, refusal, lease) {
      const { refused, addressClass } = refusal;
      if (lease) reporter.record(lease, wanted.method, wanted.target, refusal);
      metrics.requests.inc({ method: wanted.method, outcome: refused });
      metrics.refusals.inc({ code: refused, address_class: addressClass ?? 'none' });
    },
  };
}
