import { randomUUID } from 'node:crypto';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { LABELS, LEASED } from '../../../contract/names.ts';

// A program of its own: an API server's answers for `argv[2]` pods of runners, as heavy as those of production, to lists with `limit`
// and `continue`, and to watches, in which `argv[3]` of them change a second. Sends its port to its parent, and answers `GET /counts` with what it was asked.

const NAMESPACE = 'omicron-browser';
const RESOURCE_VERSION = '100';
/** Fields that Kubernetes keeps of who wrote what, about half of a pod. */
const MANAGED_BYTES = 7_000;
const SPEC_BYTES = 5_000;

const pods = Array.from({ length: Number(process.argv[2]) }, (_, place) => {
  const runnerId = randomUUID();
  const name = `pw-mcp-${runnerId}`;
  const now = new Date().toISOString();
  return {
    metadata: {
      ...{ name, namespace: NAMESPACE, uid: randomUUID(), resourceVersion: String(place), creationTimestamp: now },
      labels: { [LABELS.app]: LABELS.runnerApp, [LABELS.runnerId]: runnerId, [LABELS.state]: LEASED },
      managedFields: [{ manager: 'kubelet', operation: 'Update', fieldsV1: { f: 'm'.repeat(MANAGED_BYTES) } }],
    },
    spec: {
      nodeName: `node-${place % 100}`,
      containers: [{ name: 'browser', image: 'runner:1', args: ['s'.repeat(SPEC_BYTES)] }],
    },
    status: {
      ...{ phase: 'Running', podIP: `10.60.${place >> 8}.${place & 255}`, startTime: now },
      conditions: ['Initialized', 'Ready', 'ContainersReady', 'PodScheduled'].map(type => ({ type, status: 'True' })),
      containerStatuses: ['browser', 'uploader'].map(each => ({
        ...{ name: each, image: 'runner:1', imageID: 'runner:1', ready: true, restartCount: 0 },
        ...{ containerID: `containerd://${randomUUID()}${randomUUID()}`, state: { running: { startedAt: now } } },
      })),
    },
  };
});
const template = {
  metadata: { name: 'pw-mcp-runner', namespace: NAMESPACE, uid: randomUUID(), resourceVersion: '1' },
  template: { spec: { containers: [{ name: 'browser', image: 'runner:1' }] } },
};

const counts = { pages: 0, largest: 0, changes: 0 };
const watching = new Set<ServerResponse>();

function changePod(): void {
  const object = pods[counts.changes++ % pods.length];
  for (const watch of watching) watch.write(`${JSON.stringify({ type: 'MODIFIED', object })}\n`);
}
const changesASecond = Number(process.argv[3] ?? 0);
if (changesASecond > 0) setInterval(changePod, 1_000 / changesASecond);

createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://api');
  const say = (body: object) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  if (pathname === '/counts') return say(counts);
  if (searchParams.get('watch') === 'true') {
    response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders();
    if (!pathname.endsWith('/pods')) return;
    watching.add(response);
    response.once('close', () => watching.delete(response));
    return;
  }
  if (pathname.endsWith('/podtemplates'))
    return say({ kind: 'PodTemplateList', metadata: { resourceVersion: RESOURCE_VERSION }, items: [template] });
  if (pathname.endsWith('/endpointslices'))
    return say({ kind: 'EndpointSliceList', metadata: { resourceVersion: RESOURCE_VERSION }, items: [] });
  const limit = Number(searchParams.get('limit') ?? pods.length);
  const from = Number(searchParams.get('continue') ?? 0);
  counts.pages += 1;
  counts.largest = Math.max(counts.largest, limit);
  const more = from + limit < pods.length ? { continue: String(from + limit) } : {};
  const metadata = { resourceVersion: RESOURCE_VERSION, ...more };
  say({ kind: 'PodList', apiVersion: 'v1', metadata, items: pods.slice(from, from + limit) });
}).listen(0, '127.0.0.1', function (this: { address(): unknown }) {
  process.send?.((this.address() as AddressInfo).port);
});
