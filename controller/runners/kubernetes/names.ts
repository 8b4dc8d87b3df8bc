import { randomUUID } from 'node:crypto';
import type { V1Endpoint, V1EndpointSlice, V1Pod } from '@kubernetes/client-node';
import { LABELS, LEASED, RUNNERS_SERVICE, TOMBSTONES_MAX } from '../../../contract/names.ts';
import type { ProviderContext } from '../../ports/runners.ts';
import type { NameSlices } from './name-slices.ts';
import type { Watched } from './watched.ts';

/** As long as an idle lease lives by default. */
const KEEP_MS = 600_000;
const SWEEP_MS = 20_000;
/** A name whose pod is gone, and that leads nowhere: another replica may be about to keep it. Longer than between two lists of pods. */
const DEAD_MS = 100_000;
/** Names of one slice, as Kubernetes has them by default: a change writes the whole slice. */
const NAMES_MAX = 100;

/**
 * The names of runners: `<pod>.runners.<namespace>.svc.cluster.local`, entries of one headless Service. A name leads to its pod, and for ten minutes
 * after its lease to a controller, which answers why that has ended. A label of the pod names the slice of its entry, so that any replica
 * finds it.
 */
export interface RunnerNames {
  /** Removes what is over, of every replica, now and every 20 s until the controller stops. */
  start(): void;
  /** The slice for the name of a pod that is to be created. */
  place(): string;
  /** Resolves when the name leads to the pod, which has its address. */
  publish(pod: V1Pod): Promise<void>;
  /**
   * For a runner that is to be removed. Resolves when the name of a lease leads to this controller, or when that failed. Does nothing when it was
   * asked before. Null: its pod is lost, with its node.
   */
  end(runnerId: string, pod: V1Pod | null): Promise<void>;
  /** The runner is gone and is not asked for again. */
  forget(runnerId: string): void;
  /** Resolves when other replicas may take over the names that lead here: this one stops. */
  handOver(): Promise<void>;
}

export interface NameParts extends Pick<ProviderContext, 'stopped' | 'clock' | 'log'> {
  slices: NameSlices;
  pods: Watched<V1Pod>;
  namespace: string;
  nameOf: (runnerId: string) => string;
  /** Address at which ended leases are answered: this controller's pod. Undefined: nowhere, once their pods are gone. */
  podAddress?: string | undefined;
}

export function runnerNames(parts: NameParts): RunnerNames {
  const { slices, nameOf, podAddress, stopped, clock, log } = parts;
  const generation = randomUUID().slice(0, 8);
  let placed = 0;
  /** A drain asks again and again. */
  const asked = new Set<string>();
  /** By name, as of the last sweep: a lost pod has no label any more. */
  const sliceOfName = new Map<string, string>();
  /** When the pod of a name was first missed, or its lease ended. */
  const goneAtMs = new Map<string, number>();

  /** Leads here, or to whichever replica takes it over once this one stops. Judged when it is written. */
  const own = (name: string, address: string): V1Endpoint =>
    stopped.aborted ? handedOver(tombstone(name, address)) : tombstone(name, address);

  async function sweep(): Promise<void> {
    const all = (await slices.list()).flatMap(namesOf);
    sliceOfName.clear();
    for (const { name, slice } of all) sliceOfName.set(name, slice);
    for (const name of goneAtMs.keys()) if (!sliceOfName.has(name)) goneAtMs.delete(name);
    const written: Promise<void>[] = [];
    const ended: { name: string; slice: string; entry: V1Endpoint; sinceMs: number }[] = [];
    for (const each of all) {
      const { name, slice, entry } = each;
      if (!isTombstone(entry) && parts.pods.get(name, parts.namespace)) {
        goneAtMs.delete(name);
        continue;
      }
      const sinceMs = goneAtMs.get(name) ?? clock.nowMs();
      goneAtMs.set(name, sinceMs);
      ended.push({ ...each, sinceMs });
      if (isHandedOver(entry) && podAddress !== undefined)
        written.push(
          slices.change(slice, name, there => (there && isHandedOver(there) ? own(name, podAddress) : (there ?? null))),
        );
    }
    for (const { name, slice, entry } of overOf(ended, clock.nowMs()))
      slices.changeLater(slice, name, there =>
        there && isTombstone(there) === isTombstone(entry) ? null : (there ?? null),
      );
    // one that was deleted by hand, or whose writer ended before it wrote
    for (const pod of parts.pods.all())
      if (isNamed(pod) && !sliceOfName.has(pod.metadata?.name ?? '')) written.push(publish(pod));
    await Promise.all([...written, slices.flush()]);
  }

  async function publish(pod: V1Pod): Promise<void> {
    const entry = entryOf(pod);
    const slice = pod.metadata?.labels?.[LABELS.nameSlice];
    if (slice !== undefined && entry?.hostname) await slices.change(slice, entry.hostname, there => there ?? entry);
  }

  async function keep(runnerId: string, slice: string, address: string): Promise<void> {
    const name = nameOf(runnerId);
    goneAtMs.set(name, clock.nowMs());
    await slices
      .change(slice, name, () => own(name, address))
      .catch(err => log.warn({ err, runner_id: runnerId }, 'name of the ended lease not kept'));
  }

  async function sweepUntilStopped(): Promise<void> {
    while (!stopped.aborted) {
      await sweep().catch(err => log.warn({ err }, 'names not swept; retrying'));
      await clock.sleep(SWEEP_MS, stopped, true).catch(() => undefined);
    }
  }

  return {
    start: () => void sweepUntilStopped(),
    place: () => `${RUNNERS_SERVICE}-${generation}-${Math.floor(placed++ / NAMES_MAX)}`,
    publish,
    async end(runnerId, pod) {
      const name = nameOf(runnerId);
      const slice = pod === null ? sliceOfName.get(name) : pod.metadata?.labels?.[LABELS.nameSlice];
      if (slice === undefined || asked.has(runnerId)) return;
      asked.add(runnerId);
      if (!mayHaveClients(pod)) slices.changeLater(slice, name, () => null);
      else if (podAddress !== undefined) await keep(runnerId, slice, podAddress);
    },
    forget: runnerId => void asked.delete(runnerId),
    async handOver() {
      await slices.settled(); // a write that began before the stop may lead here yet
      const led = (await slices.list())
        .flatMap(namesOf)
        .filter(({ entry }) => isTombstone(entry) && entry.addresses[0] === podAddress);
      const release = (there?: V1Endpoint) =>
        there && isTombstone(there) && there.addresses[0] === podAddress ? handedOver(there) : (there ?? null);
      await Promise.all(led.map(({ slice, name }) => slices.change(slice, name, release)));
    },
  };
}

/** A warm runner has none. */
const mayHaveClients = (pod: V1Pod | null): boolean => pod === null || pod.metadata?.labels?.[LABELS.state] === LEASED;

interface Name {
  readonly name: string;
  readonly slice: string;
  readonly entry: V1Endpoint;
}

const namesOf = ({ metadata, endpoints }: V1EndpointSlice): Name[] =>
  (endpoints ?? []).map(entry => ({ name: entry.hostname ?? '', slice: metadata?.name ?? '', entry }));

/** The names without a pod whose time is over, and the oldest beyond their number. */
function overOf<T extends Name & { sinceMs: number }>(ended: readonly T[], nowMs: number): T[] {
  const latestFirst = ended.toSorted((a, b) => b.sinceMs - a.sinceMs);
  return latestFirst.filter(
    ({ entry, sinceMs }, index) =>
      index >= TOMBSTONES_MAX || sinceMs <= nowMs - (isTombstone(entry) ? KEEP_MS : DEAD_MS),
  );
}

/** The entry of a pod's name; undefined before it has its address. */
export function entryOf({ metadata, status }: V1Pod): V1Endpoint | undefined {
  const name = metadata?.name;
  if (!name || !status?.podIP) return undefined;
  return {
    hostname: name,
    addresses: [status.podIP],
    // The controller decides whether a runner is lost; one missed probe must not take a lease's address away.
    conditions: { ready: true },
    targetRef: { kind: 'Pod', name },
  };
}

/** The entry of a name whose lease has ended: it is of no pod of a runner. */
export const tombstone = (name: string, podAddress: string): V1Endpoint => ({
  hostname: name,
  addresses: [podAddress],
  conditions: { ready: true },
});

const isTombstone = ({ targetRef }: V1Endpoint): boolean => targetRef === undefined;
const handedOver = (entry: V1Endpoint): V1Endpoint => ({ ...entry, conditions: { ready: false, terminating: true } });
/** The controller that it led to has stopped. CoreDNS leaves out what is not ready. */
const isHandedOver = (entry: V1Endpoint): boolean => isTombstone(entry) && entry.conditions?.ready === false;

/** Whether its name is to lead to it. */
const isNamed = ({ metadata, status }: V1Pod): boolean =>
  metadata?.labels?.[LABELS.nameSlice] !== undefined && !metadata.deletionTimestamp && status?.phase === 'Running';
