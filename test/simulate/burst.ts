import { randomUUID } from 'node:crypto';
import { CoreV1Api, type KubeConfig, makeInformer, type V1Pod } from '@kubernetes/client-node';
import { LABELS, NAMESPACES, RUNNER_TEMPLATE, RUNNERS_SERVICE, runnerName } from '../../contract/names.ts';
import { leaseAnswer } from '../../contract/session.ts';
import { apiCalls, apiFault } from '../../controller/runners/kubernetes/api.ts';
import { ClusterConnections } from '../../controller/runners/kubernetes/kept-connections.ts';
import { runnerPod } from '../../controller/runners/kubernetes/objects.ts';
import { realClock } from '../../time/clock.ts';
import { eventually } from '../eventually.ts';
import { askForLease } from './callers.ts';

/** Between the start of a pod's containers and its readiness. */
export const START_MS = 5_000;
/** Its runner is warm before a probe finds that it is. */
export const WARM_MS = 4_500;
export const ONE_FAILS_OF = 100;
/** Launches at once, of all controllers together and by hand. */
export const AT_ONCE = 64;
const namespace = NAMESPACES.runners;
const REMOVED_MS = 300_000;

const isReady = (pod: V1Pod) =>
  pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True');
const aSecond = (count: number, ms: number) => Math.round((count * 100_000) / ms) / 100;

/**
 * Creates pods of the template with the rights of `controller`, 64 at once until each is ready, and removes them with those of `admin`.
 * Answers pods a second.
 */
export async function createByHand(admin: KubeConfig, controller: KubeConfig, count: number): Promise<number> {
  const kept = new ClusterConnections(realClock); // as the controllers do
  kept.loadFromString(controller.exportConfig());
  const core = admin.makeApiClient(CoreV1Api);
  const own = kept.makeApiClient(CoreV1Api);
  const call = apiCalls(realClock);
  const template = await core.readNamespacedPodTemplate({ name: RUNNER_TEMPLATE, namespace });
  const awaited = new Map<string, () => void>();
  const selector = `${LABELS.app}=${LABELS.runnerApp}`;
  const list = () => core.listNamespacedPod({ namespace, labelSelector: selector });
  const informer = makeInformer(admin, `/api/v1/namespaces/${namespace}/pods`, list, selector);
  const seen = (pod: V1Pod) => {
    if (isReady(pod)) awaited.get(pod.metadata?.name ?? '')?.();
  };
  informer.on('add', seen);
  informer.on('update', seen);
  await informer.start();
  const create = async () => {
    const id = randomUUID();
    const name = runnerName(id);
    const ready = new Promise<void>(resolve => awaited.set(name, resolve));
    const body = runnerPod(template, id, name, `${RUNNERS_SERVICE}-by-hand-0`);
    await call(() => own.createNamespacedPod({ namespace, body })).catch(error => {
      if (apiFault(error).fault !== 'conflict') throw error; // it was created, and the answer lost
    });
    await ready;
  };
  let left = count;
  const lane = async () => {
    while (left-- > 0) await create();
  };
  const beganMs = performance.now();
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
  const rate = aSecond(count, performance.now() - beganMs);
  await informer.stop();
  await core.deleteCollectionNamespacedPod({ namespace, labelSelector: selector, gracePeriodSeconds: 0 });
  await eventually('the pods are removed', async () => (await list()).items.length === 0, REMOVED_MS);
  return rate;
}

/** Callers that all come at once to an empty fleet. */
export async function burst(url: string, key: Uint8Array, count: number) {
  const failures: Record<string, number> = {};
  let started = 0;
  const beganMs = performance.now();
  const call = async (_: unknown, n: number) => {
    for (;;) {
      const answer = await askForLease(url, key, n, { ttlSeconds: 3_600, waitSeconds: 60 });
      const body: unknown = await answer.json();
      if (answer.status === 200 && leaseAnswer.parse(body).status === 'ready') {
        started += 1;
        return;
      }
      if (answer.status < 300) continue; // its browser is still starting
      const { code = String(answer.status), detail = '' } = body as { code?: string; detail?: string };
      const what = `${code}: ${detail}`;
      failures[what] = (failures[what] ?? 0) + 1;
      return;
    }
  };
  await Promise.all(Array.from({ length: count }, call));
  return { started, failed: count - started, failures, starts_a_second: aSecond(count, performance.now() - beganMs) };
}
