import type { DiscoveryV1Api, V1Endpoint, V1EndpointSlice } from '@kubernetes/client-node';
import { ENDPOINT_MANAGER, PORTS, RUNNERS_SERVICE } from '../../../contract/names.ts';
import { type Clock, neverAborts } from '../../../time/clock.ts';
import { apiFault, type BoundedApiCall } from './api.ts';

/**
 * Time from the start of one batch to that of the next. A change is written at once unless another was just written: a single launch does not
 * wait, and hundreds of them share a write.
 */
const BATCH_MS = 1_000;
/** Another replica wrote the slice in between: each try reads it again. */
const TRIES = 10;
/** Slices of one answer of a list, of 100 names each: what is parsed at once holds up everything else. */
const PAGE = 10;
const SERVICE_NAME = 'kubernetes.io/service-name';

/** The entry of a name once it is changed; null: there is none. */
export type EntryChange = (entry: V1Endpoint | undefined) => V1Endpoint | null;

/**
 * The EndpointSlices of the headless Service. Kubernetes writes none for a Service without a selector. Any replica changes any slice: a write
 * names the version that it read.
 */
export interface NameSlices {
  list(): Promise<V1EndpointSlice[]>;
  /** Resolves when the change is written, with those that came at the same time. A change may be made again after a conflict. */
  change(slice: string, hostname: string, change: EntryChange): Promise<void>;
  /** Writes it with the next batch of other changes, or at `flush`. */
  changeLater(slice: string, hostname: string, change: EntryChange): void;
  flush(): Promise<void>;
  /** Resolves when every write that was begun, or asked for, has ended. */
  settled(): Promise<void>;
}

export interface SliceParts {
  discovery: DiscoveryV1Api;
  call: BoundedApiCall;
  namespace: string;
  clock: Clock;
}

type Changes = Map<string, Map<string, EntryChange>>;
interface Batch {
  readonly changes: Changes;
  /** By slice. */
  readonly written: Promise<Map<string, Promise<void>>>;
}

export function nameSlices(parts: SliceParts): NameSlices {
  const { discovery, call, namespace, clock } = parts;
  const later: Changes = new Map();
  let next: Batch | undefined;
  let last: Promise<unknown> = Promise.resolve();
  let beganMs = Number.NEGATIVE_INFINITY;

  function begin(): Batch {
    const changes: Changes = new Map();
    const before = last;
    const write = async () => {
      await before;
      const pauseMs = beganMs + BATCH_MS - clock.nowMs();
      if (pauseMs > 0) await clock.sleep(pauseMs, neverAborts());
      beganMs = clock.nowMs();
      next = undefined; // what comes from here on is of another batch
      for (const [slice, held] of later)
        for (const [hostname, change] of held)
          if (!changes.get(slice)?.has(hostname)) add(changes, slice, hostname, change);
      later.clear();
      const written = new Map([...changes].map(([slice, entries]) => [slice, writeSlice(parts, slice, entries)]));
      await Promise.allSettled(written.values());
      return written;
    };
    const written = write();
    last = written;
    return { changes, written };
  }

  return {
    async list() {
      const found: V1EndpointSlice[] = [];
      let _continue: string | undefined;
      const labelSelector = `${SERVICE_NAME}=${RUNNERS_SERVICE}`;
      do {
        const page = { limit: PAGE, ...(_continue === undefined ? {} : { _continue }) };
        const { items, metadata } = await call(() =>
          discovery.listNamespacedEndpointSlice({ namespace, labelSelector, ...page }),
        );
        found.push(...items);
        _continue = metadata?._continue || undefined;
      } while (_continue !== undefined);
      return found;
    },
    async change(slice, hostname, change) {
      next ??= begin();
      const { changes, written } = next;
      add(changes, slice, hostname, change);
      await (await written).get(slice);
    },
    changeLater: (slice, hostname, change) => add(later, slice, hostname, change),
    async flush() {
      if (later.size === 0) return;
      next ??= begin();
      await Promise.all((await next.written).values());
    },
    async settled() {
      await last;
    },
  };
}

function add(changes: Changes, slice: string, hostname: string, change: EntryChange): void {
  const entries = changes.get(slice) ?? new Map<string, EntryChange>();
  changes.set(slice, entries.set(hostname, change));
}

/** Reads, changes and writes one slice until no other replica wrote in between. One without entries is deleted. */
async function writeSlice(
  { discovery, call, namespace }: SliceParts,
  name: string,
  changes: ReadonlyMap<string, EntryChange>,
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const there = await call(() => discovery.readNamespacedEndpointSlice({ name, namespace })).catch(error => {
      if (apiFault(error).fault === 'not_found') return null;
      throw error;
    });
    const before = there?.endpoints ?? [];
    const endpoints = changed(before, changes);
    if (isSame(before, endpoints)) return;
    const resourceVersion = there?.metadata?.resourceVersion;
    try {
      if (there === null) {
        await call(() => discovery.createNamespacedEndpointSlice({ namespace, body: nameSlice(name, endpoints) }));
      } else if (endpoints.length === 0) {
        const body = { preconditions: { ...(resourceVersion === undefined ? {} : { resourceVersion }) } };
        await call(() => discovery.deleteNamespacedEndpointSlice({ name, namespace, body }));
      } else {
        await call(() => discovery.replaceNamespacedEndpointSlice({ name, namespace, body: { ...there, endpoints } }));
      }
      return;
    } catch (error) {
      const { fault } = apiFault(error);
      if (attempt === TRIES || (fault !== 'conflict' && fault !== 'not_found')) throw error;
    }
  }
}

function changed(before: readonly V1Endpoint[], changes: ReadonlyMap<string, EntryChange>): V1Endpoint[] {
  const entries = new Map(before.map(entry => [entry.hostname ?? '', entry]));
  for (const [hostname, change] of changes) {
    const entry = change(entries.get(hostname));
    if (entry === null) entries.delete(hostname);
    else entries.set(hostname, entry);
  }
  return [...entries.values()];
}

const isSame = (a: readonly V1Endpoint[], b: readonly V1Endpoint[]): boolean =>
  a.length === b.length && a.every((entry, index) => entry === b[index]);

/** kube-proxy has nothing to do for a headless Service, and watches no slice with its label. */
export const nameSlice = (name: string, endpoints: V1Endpoint[]): V1EndpointSlice => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: {
    name,
    labels: {
      [SERVICE_NAME]: RUNNERS_SERVICE,
      'endpointslice.kubernetes.io/managed-by': ENDPOINT_MANAGER,
      'service.kubernetes.io/headless': '',
    },
  },
  addressType: endpoints[0]?.addresses[0]?.includes(':') ? 'IPv6' : 'IPv4',
  endpoints,
  ports: [{ name: 'mcp', port: PORTS.runner, protocol: 'TCP' }],
});
