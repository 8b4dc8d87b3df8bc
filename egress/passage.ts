import type { Socket } from 'node:net';
import type { EgressEvent } from '../contract/egress.ts';
import type { LeaseKey } from '../contract/lease-key.ts';
import type { SiteRequest } from '../contract/policy/sites.ts';
import type { Dialer } from './dial.ts';
import type { DenialReporter } from './events.ts';
import type { Judge } from './judge.ts';
import type { Lease, Slot } from './lease.ts';
import type { Leases } from './leases.ts';
import type { EgressMetrics } from './metrics.ts';
import { isRefusal, type Refusal } from './refusal.ts';
import type { Target } from './target.ts';

/** A way to a site that was judged and dialled. */
export interface Passage {
  readonly socket: Socket;
  readonly tlsOnly: boolean;
  readonly lease: LeaseKey;
}

export interface Passages {
  /** Whom the header speaks for, whether the policy lets them, where the name leads, and a socket to there. */
  open(ask: PassageRequest): Promise<Passage | Refusal>;
  /** Counts a refusal; with a lease it is one that came after `open` had let the request through, and is reported too. */
  refused(ask: PassageRequest, refusal: Refusal, lease?: LeaseKey): void;
}

export interface PassageRequest {
  readonly authorization: string | undefined;
  readonly target: Target;
  readonly method: EgressEvent['method'];
  /** Aborts when the client has gone. */
  readonly gone: AbortSignal;
}

export function passages(options: {
  leases: Leases;
  judge: Judge;
  dialer: Dialer;
  reporter: DenialReporter;
  metrics: EgressMetrics;
  idleMs: number;
}): Passages {
  const { leases, judge, dialer, reporter, metrics, idleMs } = options;

  const through = async (
    ask: PassageRequest,
    slot: Slot,
    scheme: SiteRequest['scheme'],
    lease: Lease,
  ): Promise<Passage | Refusal> => {
    const cancel = new AbortController();
    const stop = () => cancel.abort();
    slot.signal.addEventListener('abort', stop, { once: true });
    ask.gone.addEventListener('abort', stop, { once: true });
    const judged = await judge.judge(ask.target, scheme, lease.sites, cancel.signal);
    if (isRefusal(judged)) return judged;
    const startedMs = performance.now();
    const socket = await dialer.dial(judged.addresses, ask.target.port, cancel.signal);
    metrics.dialSeconds.observe((performance.now() - startedMs) / 1000);
    if (isRefusal(socket)) return socket;
    if (slot.signal.aborted || ask.gone.aborted) {
      socket.destroy();
      return { refused: 'credential_refused' };
    }
    ask.gone.removeEventListener('abort', stop);
    socket.on('error', () => {}); // whoever uses the socket acts on its close
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
    return { socket, tlsOnly: judged.tlsOnly, lease: lease.key };
  };

  return {
    async open(ask) {
      const lease = await leases.authorize(ask.authorization);
      if (isRefusal(lease)) return lease;
      const scheme = ask.method === 'connect' ? 'tunnel' : 'http';
      const slot = lease.admit({ scheme, host: ask.target.host, port: ask.target.port });
      const outcome = isRefusal(slot) ? slot : await through(ask, slot, scheme, lease);
      if (isRefusal(outcome)) {
        if (!isRefusal(slot)) slot.release();
        reporter.record(lease.key, ask.method, ask.target, outcome);
      } else metrics.requests.inc({ method: ask.method, outcome: 'let_through' });
      return outcome;
    },
    refused(ask, refusal, lease) {
      const { refused, addressClass } = refusal;
      if (lease) reporter.record(lease, ask.method, ask.target, refusal);
      metrics.requests.inc({ method: ask.method, outcome: refused });
      metrics.refusals.inc({ code: refused, address_class: addressClass ?? 'none' });
    },
  };
}
