import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { BrowserSessions } from '../../client/browser-sessions.ts';
import type { Lease } from '../../client/lease.ts';
import { FIXTURES } from '../../cluster/fixtures/objects.ts';
import { type Ingress, openIngress } from '../../cluster/ingress.ts';
import { kubectl } from '../../cluster/kubectl.ts';
import { LABELS, NAMESPACES, PORTS } from '../../contract/names.ts';
import { eventually } from '../eventually.ts';
import { kubelet, networkOf } from './node.ts';
import { OUTSIDE, OUTSIDE_PORT, outside } from './outside.ts';
import { addressOf, podsOf, uidOf } from './pods.ts';
import { probeFrom, type Seen, type Target } from './probe.ts';

const STRANGER = 'omicron-stranger';

const FROM = ['runner', 'controller', 'egress', 'api', 'stranger', 'node'] as const;
type From = (typeof FROM)[number];
type To = keyof typeof EXPECTED;

/**
 * Open for these and closed for the rest. The node reaches every pod (probes), and a stranger without a policy goes
 * out.
 */
const only = (...open: From[]): Readonly<Record<From, Seen>> => ({
  ...(Object.fromEntries(FROM.map(from => [from, 'closed'])) as Record<From, Seen>), // every one of them
  ...Object.fromEntries(open.map(from => [from, 'open'])),
});

/**
 * The connections that are allowed, written by hand from what each part does, not from the manifests. Every line is open to some
 * pod: so where it is closed, a policy blocks it and not a missing listener.
 */
const EXPECTED = {
  // The agent's traffic, and the controller's orders; a runner is tried on another one.
  "a runner's MCP endpoint": only('controller', 'api', 'node'),
  'the controller': only('runner', 'egress', 'api', 'node'),
  // People alone, through what stands for an ingress; here a pod of the fixtures.
  'the console': only('node'),
  "the console's metrics": only('node'),
  "the egress proxy's port": only('runner', 'node'),
  // Prometheus alone, where there is one.
  "the egress proxy's metrics": only('node'),
  // A runner has no names: the proxy resolves.
  'DNS by UDP': only('controller', 'egress', 'api', 'stranger', 'node'),
  'DNS by TCP': only('controller', 'egress', 'api', 'stranger', 'node'),
  'the API server': only('controller', 'stranger', 'node'),
  'the kubelet': only('stranger', 'node'),
  Postgres: only('controller', 'stranger', 'node'),
  // The controller keeps profiles there. Uploaders are in a runner's pod and go through the proxy too.
  S3: only('controller', 'egress', 'stranger', 'node'),
  'a public host': only('egress', 'stranger', 'node'),
  'a neighbour in the VPC': only('stranger', 'node'),
  "the instance's metadata": only('stranger', 'node'),
  'credentials of a task': only('stranger', 'node'),
  'credentials of a pod identity': only('stranger', 'node'),
  // Pods have no IPv6 here: closed for want of a way, for the stranger too.
  "the instance's metadata by IPv6": only('node'),
  'credentials of a pod identity by IPv6': only('node'),
} as const satisfies Record<string, Readonly<Record<From, Seen>>>;

let ingress: Ingress;
let leases: Lease[] = [];

beforeAll(async () => {
  ingress = await openIngress();
  const sessions = new BrowserSessions(ingress);
  leases = await Promise.all(
    ['a', 'b'].map(conversationId =>
      sessions.acquire({ userId: `reach-${randomUUID()}`, conversationId, recordVideo: false }),
    ),
  );
});
afterAll(async () => {
  await Promise.all(leases.map(lease => lease.end()));
  ingress.close();
});

/** A pod in a namespace that no policy knows. */
async function stranger(): Promise<number> {
  const image = ['-n', NAMESPACES.api, 'get', 'deployment', 'ingress', '-o'];
  const container = {
    name: 'stranger',
    image: await kubectl([...image, 'jsonpath={.spec.template.spec.containers[0].image}']),
    command: ['sleep', 'infinity'],
  };
  const objects = [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: STRANGER } },
    {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: STRANGER, namespace: STRANGER, labels: { app: STRANGER } },
      spec: {
        terminationGracePeriodSeconds: 0,
        containers: [container],
        securityContext: { runAsUser: 1000, runAsNonRoot: true },
      },
    },
  ];
  onTestFinished(() => kubectl(['delete', 'namespace', STRANGER, '--wait=false']).then(() => undefined));
  await kubectl(['apply', '-f', '-'], objects.map(each => JSON.stringify(each)).join('\n'));
  await kubectl(['-n', STRANGER, 'wait', '--for=condition=Ready', `pod/${STRANGER}`, '--timeout=100s']);
  const [pod] = await podsOf(STRANGER, `app=${STRANGER}`);
  return networkOf(pod ? uidOf(pod) : '');
}

/** Two pods of a kind: one connects to the other, since no policy applies to a pod's connection to itself. */
async function pair(namespace: string, selector: string) {
  const [one, other] = await podsOf(namespace, selector);
  if (!one || !other) throw new Error(`there are no two pods ${selector} in ${namespace}`);
  return { from: await networkOf(uidOf(one)), other: addressOf(other) };
}

/** The runner pods of the two leases: the claim has labelled them by now. */
const leased = async () => {
  const selector = `${LABELS.sessionId} in (${leases.map(({ sessionId }) => sessionId).join()})`;
  await eventually('both pods are labelled', async () => (await podsOf(NAMESPACES.runners, selector)).length === 2);
  return pair(NAMESPACES.runners, selector);
};

const serviceAddress = (namespace: string, name: string) =>
  kubectl(['-n', namespace, 'get', 'service', name, '-o', 'jsonpath={.spec.clusterIP}']);
const nodeAddress = () =>
  kubectl(['get', 'nodes', '-o', 'jsonpath={.items[0].status.addresses[?(@.type=="InternalIP")].address}']);

describe('[O9] reachability', () => {
  test('[O13] every pod, tried from inside, reaches exactly the targets that the table lists', {
    timeout: 240_000,
  }, async () => {
    await using _ = await outside();
    const [runner, controller, egress, api, web] = [
      await leased(),
      await pair(NAMESPACES.system, `${LABELS.app}=${LABELS.controllerApp}`),
      await pair(NAMESPACES.system, `${LABELS.app}=${LABELS.egressApp}`),
      (await podsOf(NAMESPACES.api, `${LABELS.mcpClient}=true`))[0],
      (await podsOf(NAMESPACES.system, `${LABELS.app}=${LABELS.consoleApp}`))[0],
    ];
    if (!api || !web) throw new Error('there is no pod of the API, or none of the console');
    const from: Record<From, number> = {
      runner: runner.from,
      controller: controller.from,
      egress: egress.from,
      api: await networkOf(uidOf(api)),
      stranger: await stranger(),
      node: (await kubelet()).pid,
    };
    const dns = await serviceAddress('kube-system', 'kube-dns');
    const tcp = (host: string, port: number): Target => ({ by: 'tcp', host, port });
    const out = (host: string): Target => tcp(host, OUTSIDE_PORT);
    const to: Record<To, Target> = {
      "a runner's MCP endpoint": tcp(runner.other, PORTS.runner),
      'the controller': tcp(controller.other, PORTS.controller),
      'the console': tcp(addressOf(web), PORTS.console),
      "the console's metrics": tcp(addressOf(web), PORTS.consoleAdmin),
      "the egress proxy's port": tcp(egress.other, PORTS.egress),
      "the egress proxy's metrics": tcp(egress.other, PORTS.egressAdmin),
      'DNS by UDP': { by: 'dns', host: dns, port: 53 },
      'DNS by TCP': tcp(dns, 53),
      'the API server': tcp(await serviceAddress('default', 'kubernetes'), 443),
      'the kubelet': tcp(await nodeAddress(), 10250),
      Postgres: tcp(await serviceAddress(FIXTURES, 'postgres'), 5432),
      S3: tcp(await serviceAddress(FIXTURES, 's3'), 80),
      'a public host': out(OUTSIDE.public),
      'a neighbour in the VPC': out(OUTSIDE.neighbour),
      "the instance's metadata": out(OUTSIDE.imds),
      'credentials of a task': out(OUTSIDE.ecs),
      'credentials of a pod identity': out(OUTSIDE.podIdentity),
      "the instance's metadata by IPv6": out(OUTSIDE.imds6),
      'credentials of a pod identity by IPv6': out(OUTSIDE.podIdentity6),
    };
    const seen = Object.fromEntries(Object.keys(EXPECTED).map(name => [name, {} as Record<From, Seen>]));
    await Promise.all(
      FROM.map(async name => {
        const answers = await probeFrom(from[name], Object.values(to));
        for (const [index, target] of Object.keys(to).entries())
          Object.assign(seen[target] ?? {}, { [name]: answers[index] });
      }),
    );
    expect(seen).toEqual(EXPECTED);
  });
});
