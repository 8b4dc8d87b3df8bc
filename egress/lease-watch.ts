import { type EgressGrant, WATCH_LEASES_MAX, type WatchAnswer } from '../contract/egress.ts';
import { type Backoff, backoffMs } from '../time/backoff.ts';
import type { Clock } from '../time/clock.ts';
import type { EgressLease } from './lease.ts';
import { holderOf, type LeaseTable } from './lease-table.ts';
import type { PolicySource } from './policy-source.ts';

export interface LeaseWatchOptions {
  readonly source: PolicySource;
  readonly table: LeaseTable;
  /** Leases of the table: it decides how many watches may be in flight. */
  readonly leasesMax: number;
  /** How long one watch may wait. */
  readonly watchMs: number;
  readonly clock: Clock;
  readonly stopping: AbortSignal;
  readonly onUnavailable: (cause: unknown) => void;
}

export interface LeaseWatch {
  /** Watches a lease until it ends. */
  add(lease: EgressLease): void;
  /** Resolves when no watch is in flight. */
  settled(): Promise<unknown>;
}

/** Beside those that a full table needs. */
const WATCHES_SPARE = 3;
/** Between two watches of a batch, in case the controller always answers at once. */
export const WATCH_PAUSE_MS = 50;
const WATCH_RETRY: Backoff = { firstMs: 1000, maxMs: 1000, jitter: 0.5 };

export type WatchVerdict = { to: 'confirm'; remainingMs: number } | { to: 'adopt'; grant: EgressGrant } | { to: 'end' };

/** Meaning of a watch's answer for one lease; a lease that the answer leaves out has ended. */
export function watchVerdict(
  { key }: Pick<EgressLease, 'key'>,
  line: WatchAnswer['leases'][number] | undefined,
): WatchVerdict {
  if (line?.state === 'unchanged') return { to: 'confirm', remainingMs: line.remaining_ms };
  if (line?.state === 'changed' && line.grant.epoch === key.epoch) return { to: 'adopt', grant: line.grant };
  return { to: 'end' };
}

/** Keeps leases true by watching the controller for their changes, in batches. */
export function leaseWatch({
  source,
  table,
  leasesMax,
  watchMs,
  clock,
  stopping,
  onUnavailable,
}: LeaseWatchOptions): LeaseWatch {
  const watchesMax = Math.ceil(leasesMax / WATCH_LEASES_MAX) + WATCHES_SPARE;
  const unwatched = new Set<EgressLease>();
  const inFlight = new Set<Promise<void>>();

  const watch = async (batch: readonly EgressLease[]): Promise<void> => {
    const asked = batch.map(({ key, client, version }) => ({ ...key, client, version }));
    const { leases } = await source.watch({ wait_ms: watchMs, leases: asked }, stopping);
    const lines = new Map(leases.map(line => [holderOf(line.runner_id, line.client), line]));
    for (const lease of batch) {
      if (lease.ended) continue;
      const verdict = watchVerdict(lease, lines.get(holderOf(lease.key.runner_id, lease.client)));
      if (verdict.to === 'confirm') lease.confirm(verdict.remainingMs, clock.nowMs());
      else if (verdict.to === 'adopt') lease.adopt(verdict.grant, clock.nowMs());
      else table.end(lease);
    }
  };

  /** One watch, then a pause after which whatever is unwatched is watched again. */
  const round = async (batch: readonly EgressLease[]): Promise<void> => {
    let pauseMs = WATCH_PAUSE_MS;
    try {
      await watch(batch);
    } catch (cause) {
      if (stopping.aborted) return;
      onUnavailable(cause);
      pauseMs = backoffMs(0, WATCH_RETRY, () => clock.random());
    }
    for (const lease of batch) if (!lease.ended) unwatched.add(lease);
    void clock.sleep(pauseMs, stopping, true).then(begin, () => {}); // rejects only when stopping
  };

  // A new lease gets a watch of its own at once; when all watches are in flight, it joins the next batch.
  const begin = (): void => {
    for (const lease of unwatched) if (lease.ended) unwatched.delete(lease);
    while (!stopping.aborted && inFlight.size < watchesMax && unwatched.size > 0) {
      const batch = [...unwatched].slice(0, WATCH_LEASES_MAX);
      for (const lease of batch) unwatched.delete(lease);
      const work = round(batch).finally(() => inFlight.delete(work));
      inFlight.add(work);
    }
  };

  return {
    add(lease) {
      unwatched.add(lease);
      begin();
    },
    settled: () => Promise.allSettled(inFlight),
  };
}
