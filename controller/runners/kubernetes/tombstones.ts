import type { CoreV1Api, DiscoveryV1Api, V1Service } from '@kubernetes/client-node';
import { ENDED, LABELS, TOMBSTONES_MAX } from '../../../contract/names.ts';
import type { ProviderContext } from '../../ports/runners.ts';
import { apiFault, type BoundedApiCall, MERGE_PATCH } from './api.ts';
import { runnersAccount } from './mark.ts';
import { tombstoneEndpoint } from './objects.ts';

/** As long as an idle lease lives by default. */
const KEEP_MS = 600_000;
const SWEEP_MS = 60_000;
/** The oldest gives way to another one. Half of what the quota allows: replicas add at the same time. */
const KEPT_MAX = TOMBSTONES_MAX / 2;

/**
 * Keeps the addresses of ended leases: the Service of a leased runner outlives its pod and leads to this controller, which answers
 * there why the lease has ended. Its clients find it under the name that they have.
 */
export interface ServiceTombstones {
  /** Removes what is over, of every replica, now and every minute until the controller stops; then what leads to it. */
  start(): void;
  /** Resolves when the Service leads here too, or when that failed. Does nothing when it was asked before. */
  keep(runnerId: string): Promise<void>;
  /** The runner is gone and is not asked for again. */
  forget(runnerId: string): void;
}

export interface TombstoneParts extends Pick<ProviderContext, 'stopped' | 'clock' | 'log'> {
  core: CoreV1Api;
  discovery: DiscoveryV1Api;
  call: BoundedApiCall;
  namespace: string;
  nameOf: (runnerId: string) => string;
  podAddress: string;
}

export function serviceTombstones(parts: TombstoneParts): ServiceTombstones {
  const { core, discovery, call, namespace, nameOf, podAddress, stopped, clock, log } = parts;
  /** A drain asks again and again. */
  const asked = new Set<string>();
  /** Names that lead to this pod. */
  const own = new Set<string>();

  async function remove(name: string): Promise<void> {
    own.delete(name);
    await call(() => core.deleteNamespacedService({ name, namespace })).catch(error => {
      if (apiFault(error).fault !== 'not_found') throw error;
    });
  }

  async function sweep(room: number): Promise<void> {
    const labelSelector = `${LABELS.state}=${ENDED}`;
    const { items } = await call(() => core.listNamespacedService({ namespace, labelSelector }));
    const latestFirst = items.toSorted((a, b) => endedAtMs(b) - endedAtMs(a));
    const isOver = (service: V1Service, index: number) =>
      index >= KEPT_MAX - room || endedAtMs(service) < Date.now() - KEEP_MS;
    await Promise.all(latestFirst.filter(isOver).map(service => remove(nameOfService(service))));
    const there = new Set(items.map(nameOfService));
    for (const name of own) if (!there.has(name)) own.delete(name);
  }

  async function sweepUntilStopped(): Promise<void> {
    while (!stopped.aborted) {
      await sweep(0).catch(err => log.warn({ err }, 'tombstones not swept; retrying'));
      await clock.sleep(SWEEP_MS, stopped, true).catch(() => undefined);
    }
  }

  async function keep(runnerId: string): Promise<void> {
    await sweep(1);
    const metadata = {
      labels: { [LABELS.state]: ENDED },
      annotations: { [LABELS.endedAt]: new Date().toISOString() },
      ownerReferences: [await runnersAccount(parts)],
    };
    // The pod is to be deleted, and then leaves the Service while its process still answers.
    const spec = { publishNotReadyAddresses: false };
    const patch = { metadata, spec };
    const name = nameOf(runnerId);
    const service = await call(() => core.patchNamespacedService({ name, namespace, body: patch }, MERGE_PATCH));
    const body = tombstoneEndpoint(service, podAddress);
    await call(() => discovery.createNamespacedEndpointSlice({ namespace, body }));
    own.add(name);
  }

  // no pod answers at this address any more, or another one does
  const removeOwn = () => Promise.all([...own].map(remove)).catch(err => log.warn({ err }, 'tombstones not removed'));
  stopped.addEventListener('abort', removeOwn, { once: true });

  return {
    start: () => void sweepUntilStopped(),
    async keep(runnerId) {
      if (asked.has(runnerId) || stopped.aborted) return;
      asked.add(runnerId);
      await keep(runnerId).catch(err => {
        // not found: the pod was gone before, and its Service with it; conflict: another replica was first
        if (!['not_found', 'conflict'].includes(apiFault(err).fault))
          log.warn({ err, runner_id: runnerId }, 'address of the ended lease not kept');
      });
    },
    forget: runnerId => void asked.delete(runnerId),
  };
}

const nameOfService = ({ metadata }: V1Service): string => metadata?.name ?? '';
const endedAtMs = ({ metadata }: V1Service): number => Date.parse(metadata?.annotations?.[LABELS.endedAt] ?? '') || 0;
