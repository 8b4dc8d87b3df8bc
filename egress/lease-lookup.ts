import type { Clock } from '../time/clock.ts';
import type { EgressLease } from './lease.ts';
import { isFresh, type LeaseTable } from './lease-table.ts';
import type { PolicySource } from './policy-source.ts';
import { type ProxyCredential, parseProxyAuthorization } from './proxy-credential.ts';
import { isRefusal, type ProxyRefusal } from './refusal.ts';

export interface LookupOptions {
  readonly source: PolicySource;
  readonly table: LeaseTable;
  /** A new connection needs a lease confirmed this recently; otherwise the controller is asked first. */
  readonly freshMs: number;
  readonly clock: Clock;
  readonly stopping: AbortSignal;
  readonly onCreated: (lease: EgressLease) => void;
  readonly onUnavailable: (cause: unknown) => void;
}

export interface LeaseLookup {
  /** The lease of a `Proxy-Authorization` header that a peer sent. Fails closed. */
  authorize(header: string | undefined, peer: string): Promise<EgressLease | ProxyRefusal>;
  /** Resolves when no lookup is in flight. */
  settled(): Promise<unknown>;
}

/** How long a refused credential is refused without asking the controller again. */
const REFUSED_MS = 1000;
const REFUSED_MAX = 1000;
const LOOKUPS_MAX = 64;
/** The share of one peer; one that tries credentials leaves some to the others. */
const LOOKUPS_PER_PEER = 48;

/**
 * Finds leases by credential: from the table while they are fresh, else from the controller, once per credential at a
 * time.
 */
export function leaseLookup(options: LookupOptions): LeaseLookup {
  const { source, table, freshMs, clock, stopping } = options;
  const refusedUntilMs = new Map<string, number>();
  const inFlight = new Map<string, { peer: string; lookup: Promise<EgressLease | ProxyRefusal> }>();

  const refuse = (digest: string): ProxyRefusal => {
    const known = table.of(digest);
    if (known) table.end(known);
    if (refusedUntilMs.size >= REFUSED_MAX) refusedUntilMs.clear();
    refusedUntilMs.set(digest, clock.nowMs() + REFUSED_MS);
    return { refused: 'credential_refused' };
  };

  const ask = async ({ runnerId, password, digest }: ProxyCredential): Promise<EgressLease | ProxyRefusal> => {
    try {
      const grant = await source.lookup(runnerId, password, stopping);
      if (stopping.aborted) return { refused: 'shutting_down' };
      if (grant === 'refused') return refuse(digest);
      const granted = table.grant(digest, grant, clock.nowMs());
      if (isRefusal(granted)) return granted;
      if (granted.created) options.onCreated(granted.lease);
      return granted.lease;
    } catch (cause) {
      options.onUnavailable(cause);
      return { refused: 'policy_unavailable' };
    }
  };

  const isFull = (peer: string): boolean =>
    inFlight.size >= LOOKUPS_MAX ||
    [...inFlight.values()].filter(other => other.peer === peer).length >= LOOKUPS_PER_PEER;

  return {
    async authorize(header, peer) {
      if (stopping.aborted) return { refused: 'shutting_down' };
      const credential = parseProxyAuthorization(header);
      if (!credential) return { refused: 'credential_refused' };
      const { digest } = credential;
      const nowMs = clock.nowMs();
      const known = table.of(digest);
      if (known && isFresh(known, freshMs, nowMs)) return known;
      if ((refusedUntilMs.get(digest) ?? 0) > nowMs) return { refused: 'credential_refused' };
      const pending = inFlight.get(digest);
      if (pending) return pending.lookup;
      if (!known && isFull(peer)) return { refused: 'policy_unavailable' };
      const lookup = ask(credential).finally(() => inFlight.delete(digest));
      inFlight.set(digest, { peer, lookup });
      return lookup;
    },
    settled: () => Promise.allSettled([...inFlight.values()].map(({ lookup }) => lookup)),
  };
}
