import { createHash } from 'node:crypto';
import * as z from 'zod';
import { type EgressClient, type EgressGrant, WATCH_LEASES_MAX } from '../contract/egress.ts';
import { Lease, type LeaseLimits } from './lease.ts';
import type { PolicySource } from './policy-source.ts';
import type { Refusal } from './refusal.ts';

export interface LeasesOptions {
  readonly source: PolicySource;
  readonly limits: LeaseLimits;
  /** A new connection needs a lease that was confirmed this recently; else the controller is asked first. */
  readonly freshMs: number;
  /** Open connections are closed when nobody vouched for their lease for this long. */
  readonly confirmMs: number;
  /** How long one watch may wait; below `freshMs`, so that a healthy controller is asked once per lease. */
  readonly watchMs: number;
  readonly onUnavailable?: (cause: unknown) => void;
}

export interface Leases {
  /** The lease that a `Proxy-Authorization` header speaks for. Fails closed. */
  authorize(header: string | undefined): Promise<Lease | Refusal>;
  /** Ends what is over, spent or unconfirmed; runs a few times a second after `start`. */
  sweep(): void;
  readonly live: ReadonlyMap<string, Lease>;
  start(): void;
  /** Ends all leases; resolves when no call is under way. */
  stop(): Promise<void>;
}

const SWEEP_MS = 250;
const REFUSED_MS = 1000;
const REFUSED_MAX = 1000;
const LOOKUPS_MAX = 64;
const WATCHES_MAX = 4;
/** Between two watches of a batch, should the controller answer at once for ever. */
const WATCH_PAUSE_MS = 50;
const WATCH_RETRY_MS = 500;

/** Leases by credential, kept true by watching the controller. Times are monotonic. */
export function egressLeases(options: LeasesOptions): Leases {
  const { source, limits, freshMs, confirmMs, watchMs } = options;
  const byCredential = new Map<string, Lease>();
  const byHolder = new Map<string, Lease>();
  const refusedUntilMs = new Map<string, number>();
  const lookups = new Map<string, Promise<Lease | Refusal>>();
  const unwatched = new Set<Lease>();
  const running = new Set<Promise<void>>();
  const stopping = new AbortController();
  let sweeper: NodeJS.Timeout | undefined;
  const nowMs = () => performance.now();

  const end = (lease: Lease) => {
    lease.end();
    unwatched.delete(lease);
    const holder = holderOf(lease.key.runner_id, lease.client);
    if (byHolder.get(holder) === lease) byHolder.delete(holder);
    for (const [credential, held] of byCredential) if (held === lease) byCredential.delete(credential);
  };

  const take = (credential: string, grant: EgressGrant): Lease | Refusal => {
    const holder = holderOf(grant.runner_id, grant.client);
    const known = byHolder.get(holder);
    if (known && known.key.epoch === grant.epoch && known.key.session_id === grant.session_id) {
      known.adopt(grant, nowMs());
      byCredential.set(credential, known);
      return known;
    }
    if (known && known.key.epoch > grant.epoch && known.key.session_id === grant.session_id)
      return { refused: 'credential_refused' };
    if (known) end(known);
    if (byHolder.size >= WATCH_LEASES_MAX) return { refused: 'policy_unavailable' };
    const lease = new Lease(grant, limits, nowMs());
    byHolder.set(holder, lease);
    byCredential.set(credential, lease);
    unwatched.add(lease);
    watchSoon(0);
    return lease;
  };

  const lookup = async (credential: string, runnerId: string, password: string): Promise<Lease | Refusal> => {
    try {
      const grant = await source.lookup(runnerId, password, stopping.signal);
      if (stopping.signal.aborted) return { refused: 'shutting_down' };
      if (grant !== 'refused') return take(credential, grant);
      const known = byCredential.get(credential);
      if (known) end(known);
      if (refusedUntilMs.size >= REFUSED_MAX) refusedUntilMs.clear();
      refusedUntilMs.set(credential, nowMs() + REFUSED_MS);
      return { refused: 'credential_refused' };
    } catch (cause) {
      options.onUnavailable?.(cause);
      return { refused: 'policy_unavailable' };
    }
  };

  const watch = async (batch: readonly Lease[]): Promise<void> => {
    let pauseMs = WATCH_PAUSE_MS;
    try {
      const asked = batch.map(({ key, client, version }) => ({ ...key, client, version }));
      const { leases } = await source.watch({ wait_ms: watchMs, leases: asked }, stopping.signal);
      const answers = new Map(leases.map(answer => [holderOf(answer.runner_id, answer.client), answer]));
      for (const lease of batch) {
        if (lease.ended) continue;
        const answer = answers.get(holderOf(lease.key.runner_id, lease.client));
        if (answer?.state === 'unchanged') lease.confirm(answer.remaining_ms, nowMs());
        else if (answer?.state === 'changed' && answer.grant.epoch === lease.key.epoch)
          lease.adopt(answer.grant, nowMs());
        else end(lease);
      }
    } catch (cause) {
      if (!stopping.signal.aborted) options.onUnavailable?.(cause);
      pauseMs = WATCH_RETRY_MS * (1 + Math.random());
    }
    for (const lease of batch) if (!lease.ended) unwatched.add(lease);
    watchSoon(pauseMs);
  };

  // New leases get a watch of their own at once; when four are under way, they join the next that returns.
  const watchSoon = (inMs: number) => {
    setTimeout(() => {
      if (stopping.signal.aborted || unwatched.size === 0 || running.size >= WATCHES_MAX) return;
      const batch = [...unwatched];
      unwatched.clear();
      const work = watch(batch).finally(() => running.delete(work));
      running.add(work);
    }, inMs).unref();
  };

  return {
    live: byHolder,
    authorize(header) {
      if (stopping.signal.aborted) return Promise.resolve({ refused: 'shutting_down' });
      const parts = basicCredential(header);
      if (!parts) return Promise.resolve({ refused: 'credential_refused' });
      const credential = createHash('sha256').update(`${parts.runnerId}:${parts.password}`).digest('base64');
      const known = byCredential.get(credential);
      const now = nowMs();
      if (known && !known.ended && now < known.endsMs && now - known.confirmedMs <= freshMs)
        return Promise.resolve(known);
      if ((refusedUntilMs.get(credential) ?? 0) > now) return Promise.resolve({ refused: 'credential_refused' });
      const asked = lookups.get(credential);
      if (asked) return asked;
      if (lookups.size >= LOOKUPS_MAX) return Promise.resolve({ refused: 'policy_unavailable' });
      const asking = lookup(credential, parts.runnerId, parts.password).finally(() => lookups.delete(credential));
      lookups.set(credential, asking);
      return asking;
    },
    sweep() {
      const now = nowMs();
      for (const lease of [...byHolder.values()]) {
        if (now >= lease.endsMs || now - lease.confirmedMs > confirmMs) end(lease);
        else lease.enforceBytes();
      }
    },
    start() {
      sweeper = setInterval(() => this.sweep(), SWEEP_MS).unref();
    },
    async stop() {
      clearInterval(sweeper);
      stopping.abort();
      for (const lease of [...byHolder.values()]) end(lease);
      await Promise.allSettled([...running, ...lookups.values()]);
    },
  };
}

/** A runner's browser and its uploader are two. */
const holderOf = (runnerId: string, client: EgressClient): string => `${client} ${runnerId}`;

const runnerIdSchema = z.uuid();

function basicCredential(header: string | undefined): { runnerId: string; password: string } | null {
  const match = /^Basic ([A-Za-z0-9+/]{1,1024}={0,2})$/i.exec(header ?? '');
  if (!match?.[1]) return null;
  const text = Buffer.from(match[1], 'base64').toString('utf8');
  const colon = text.indexOf(':');
  const runnerId = text.slice(0, colon).toLowerCase();
  const password = text.slice(colon + 1);
  if (colon === -1 || password === '' || password.length > 512 || !runnerIdSchema.safeParse(runnerId).success)
    return null;
  return { runnerId, password };
}
