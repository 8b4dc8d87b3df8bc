import type { Clock } from '../time/clock.ts';
import type { EgressLease, LeaseLimits } from './lease.ts';
import { leaseLookup } from './lease-lookup.ts';
import { isOverdue, LeaseTable } from './lease-table.ts';
import { leaseWatch } from './lease-watch.ts';
import type { PolicySource } from './policy-source.ts';
import type { ProxyRefusal } from './refusal.ts';

export interface RegistryOptions {
  readonly source: PolicySource;
  readonly limits: LeaseLimits;
  readonly leasesMax: number;
  /** A new connection needs a lease confirmed this recently; otherwise the controller is asked first. */
  readonly freshMs: number;
  /** Open connections are closed when their lease was not confirmed for this long. */
  readonly confirmMs: number;
  /** How long one watch may wait; below `freshMs`, so that a healthy controller is asked once per lease. */
  readonly watchMs: number;
  readonly clock: Clock;
  readonly onUnavailable: (cause: unknown) => void;
}

export interface LeaseRegistry {
  /** The lease of a `Proxy-Authorization` header that a peer sent. Fails closed. */
  authorize(header: string | undefined, peer: string): Promise<EgressLease | ProxyRefusal>;
  /** Live leases. */
  readonly size: number;
  start(): void;
  /** Ends all leases; resolves when no call is in flight. */
  stop(): Promise<void>;
}

const SWEEP_MS = 250;

/** Ends leases that are overdue, and closes the connections of those that spent their bytes. */
export function sweep(table: LeaseTable, confirmMs: number, nowMs: number): void {
  for (const lease of table.list()) {
    if (isOverdue(lease, confirmMs, nowMs)) table.end(lease);
    else lease.enforceBytes();
  }
}

/** The leases that this proxy serves: looked up by credential, watched for changes, swept a few times a second. */
export function leaseRegistry(options: RegistryOptions): LeaseRegistry {
  const { source, clock, onUnavailable } = options;
  const stopping = new AbortController();
  const table = new LeaseTable(options.limits, options.leasesMax);
  const shared = { source, table, clock, stopping: stopping.signal, onUnavailable };
  const watch = leaseWatch({ ...shared, leasesMax: options.leasesMax, watchMs: options.watchMs });
  const lookup = leaseLookup({ ...shared, freshMs: options.freshMs, onCreated: watch.add });
  let sweeping: Promise<void> = Promise.resolve();

  const sweepLoop = async (): Promise<void> => {
    for (;;) {
      await clock.sleep(SWEEP_MS, stopping.signal, true);
      sweep(table, options.confirmMs, clock.nowMs());
    }
  };

  return {
    authorize: lookup.authorize,
    get size() {
      return table.size;
    },
    start() {
      sweeping = sweepLoop().catch(error => {
        if (!stopping.signal.aborted) throw error;
      });
    },
    async stop() {
      stopping.abort();
      for (const lease of table.list()) table.end(lease);
      await Promise.allSettled([sweeping, watch.settled(), lookup.settled()]);
    },
  };
}
