import { randomUUID } from 'node:crypto';
import type { V1Node, V1Pod } from '@kubernetes/client-node';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { BrowserSessions } from '../../client/browser-sessions.ts';
import { applyEnvironment, deployedEnvironment, waitUntilRunning } from '../../cluster/deploy.ts';
import { SITES } from '../../cluster/fixtures/objects.ts';
import { type Ingress, openIngress } from '../../cluster/ingress.ts';
import { kubectl } from '../../cluster/kubectl.ts';
import { LABELS, NAMESPACES, SERVICES } from '../../contract/names.ts';
import { parseQuantity } from '../../contract/quantity.ts';
import { podRequests, RUNNER_SHAPES } from '../../contract/runner-shapes.ts';
import type { Environment } from '../../manifests/environment-type.ts';
import { eventually } from '../eventually.ts';
import { argoPaused } from './argo-paused.ts';
import { type Held, hold, losesItsRunner, stillServes } from './held.ts';
import { onNode, processesLike, squeezeMemory } from './node-faults.ts';
import { podsOf } from './pods.ts';

// As many leases as fit on the node by what pods of the lean shape request. Their limits add up to more memory than the node has: what ends
// must be the page that takes too much, or its runner.

const MINUTE_MS = 60_000;
const MIB = 1024 * 1024;

let env: Environment;
let ingress: Ingress;
let sessions: BrowserSessions;
let paused: AsyncDisposable;
let fit = 0;
const all: Held[] = [];

const items = async <T>(...args: string[]): Promise<T[]> =>
  (JSON.parse(await kubectl(['get', ...args, '-o', 'json'])) as { items: T[] }).items;

/** Places for runners of the lean shape beside pods that are there. Spare ones count as free: they make room. */
async function placesBeside(isThere: (pod: V1Pod) => boolean): Promise<number> {
  const [node] = await items<V1Node>('nodes');
  const pods = (await items<V1Pod>('pods', '--all-namespaces')).filter(
    pod =>
      pod.spec?.nodeName &&
      !pod.metadata?.deletionTimestamp &&
      !pod.metadata?.name?.startsWith('spare-runner') &&
      isThere(pod),
  );
  const containers = pods.flatMap(({ spec }) => [
    ...(spec?.containers ?? []),
    ...(spec?.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always'),
  ]);
  const free = (resource: 'cpu' | 'memory' | 'ephemeral-storage') =>
    containers.reduce(
      (left, { resources }) => left - parseQuantity(resources?.requests?.[resource] ?? '0'),
      parseQuantity(node?.status?.allocatable?.[resource] ?? '0'),
    );
  const { cores, memoryBytes, diskBytes } = podRequests(RUNNER_SHAPES.lean);
  const places = [free('cpu') / cores, free('memory') / memoryBytes, free('ephemeral-storage') / diskBytes];
  return Math.floor(Math.min(...places));
}
const isRunner = ({ metadata }: V1Pod) => metadata?.namespace === NAMESPACES.runners;

/** One replica of each: what the others request is left to runners. */
async function scaleToOne(): Promise<void> {
  const deployments = [SERVICES.controller, SERVICES.egress];
  for (const name of deployments)
    await kubectl(['-n', NAMESPACES.system, 'scale', `deployment/${name}`, '--replicas=1']);
  await eventually(
    'the other replicas are gone',
    async () => {
      const pods = await items<V1Pod>('-n', NAMESPACES.system, 'pods');
      const named = (name: string) => pods.filter(({ metadata }) => metadata?.name?.startsWith(`${name}-`));
      return deployments.every(name => named(name).length === 1);
    },
    MINUTE_MS,
  );
}

/** Once what was applied runs, a replica of before may still answer, that it is stopping. */
async function waitUntilReplaced(): Promise<void> {
  await waitUntilRunning();
  await eventually(
    'no replica is stopping',
    async () =>
      (await items<V1Pod>('-n', NAMESPACES.system, 'pods')).every(({ metadata }) => !metadata?.deletionTimestamp),
    2 * MINUTE_MS,
  );
}

const serve = (held: readonly Held[]) => Promise.all(held.map(each => stillServes(sessions, each)));
/** The answer of a call that takes more memory in its page than a browser may. */
const overeat = ({ browser }: Held): Promise<string> =>
  browser.evaluate('() => { window.taken = []; for (;;) window.taken.push(new Uint8Array(1 << 20).fill(1)); }').then(
    () => 'it went on',
    (error: Error) => error.message,
  );

describe.skipIf(!onNode)('a node that is full of leased browsers of the lean shape', { timeout: 4 * MINUTE_MS }, () => {
  beforeAll(async () => {
    env = await deployedEnvironment();
    ingress = await openIngress();
    sessions = new BrowserSessions(ingress);
    paused = await argoPaused();
    await scaleToOne();
    fit = await placesBeside(pod => !isRunner(pod));
    const runner = { ...env.runner, ...RUNNER_SHAPES.lean };
    const replicas = { controller: 1, egress: 1 };
    await applyEnvironment({ ...env, runner, replicas, limits: { ...env.limits, capacity: fit } });
    await waitUntilReplaced();
    const [lean] = RUNNER_SHAPES.lean.browser.cpu;
    await eventually(
      'runners at hand have the lean shape',
      async () => {
        const pods = await podsOf(NAMESPACES.runners, `${LABELS.state}=warm`);
        return pods.length > 0 && pods.every(({ spec }) => spec?.containers[0]?.resources?.requests?.cpu === lean);
      },
      2 * MINUTE_MS,
    );
  }, 5 * MINUTE_MS);
  afterAll(async () => {
    for (const { browser, lease } of all) {
      await browser[Symbol.asyncDispose]();
      await lease.end();
    }
    await applyEnvironment(env);
    await paused[Symbol.asyncDispose]();
    await waitUntilReplaced();
    ingress.close();
  }, 3 * MINUTE_MS);

  test('as many lease as fit by what their pods request', async () => {
    expect(fit).toBeGreaterThanOrEqual(4); // six where the node has two cores
    const users = Array.from({ length: fit }, () => ({ userId: `full-${randomUUID()}` }));
    await Promise.all(users.map(async user => void all.push(await hold(sessions, user))));
    await serve(all);
    expect(await podsOf(NAMESPACES.runners, `${LABELS.state}=leased`)).toHaveLength(fit);
    expect(await placesBeside(() => true)).toBe(0);
  });

  test('a page that takes more than a browser may is closed, its lease says why and goes on, and no other is lost', async () => {
    const [heavy, ...others] = all;
    if (!heavy) throw new Error('nothing is leased');
    expect(await overeat(heavy)).toMatch(/The tab of \S+ was closed: it took \d+ MiB of memory/);
    await serve(others);
    await heavy.browser.goto(`${SITES.site}/login`);
    expect((await sessions.get(heavy.lease.sessionId)).status).toBe('ready');
  });

  test('a runner that reaches the limit of its pod is killed, its lease says so, and no other is lost', async () => {
    const [spared, heavy, ...others] = all;
    if (!spared || !heavy) throw new Error('nothing is leased');
    const [pid = 0] = await processesLike(heavy.pod.uid, /^node .*runner\/main/);
    await squeezeMemory(pid, 32 * MIB);
    void overeat(heavy); // it ends with its runner
    expect((await losesItsRunner(sessions, heavy)).error).toMatch(/out of memory \(OOMKilled\)/);
    await serve(others);
    expect((await sessions.get(spared.lease.sessionId)).status).toBe('ready');
  });
});
