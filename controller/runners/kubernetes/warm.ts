import type { V1Pod } from '@kubernetes/client-node';
import type { RunnerHealth } from '../../../contract/assignment.ts';
import { OmicronError } from '../../../contract/problem.ts';
import { timeoutSignal } from '../../../time/clock.ts';
import type { ProviderContext, WarmRunner } from '../../ports/runners.ts';
import { startFailureOf } from '../start-failure.ts';
import type { RunnerNames } from './names.ts';
import { endpointOf } from './objects.ts';
import { type RunnerPods, throwStartFault } from './pods.ts';
import { deathOfPod, POD_GONE, pendingReason } from './verdict.ts';
import type { Watched } from './watched.ts';

const HEALTH_TIMEOUT_MS = 2_000;
/** An image that cannot be pulled may be pulled a moment later; after this it is hopeless. */
const HOPELESS_AFTER_MS = 10_000;
/** The watch does not show that a browser became warm. */
const POLL_MS = 1_000;

export type WarmVerdict =
  | { state: 'warm'; runner: WarmRunner }
  | { state: 'failed'; error: OmicronError }
  | { state: 'pending'; reason: string };

/** How far a start has come, from the pod and what its runner says of itself (null: it does not answer). */
export function warmVerdict(pod: V1Pod, health: RunnerHealth | null, waitedMs: number): WarmVerdict {
  const death = deathOfPod(pod);
  if (death) return { state: 'failed', error: new OmicronError('runner_start_failed', death.reason) };
  // Also before the pod is ready: a browser that cannot start says so, and never becomes ready.
  if (health?.phase === 'failed') return { state: 'failed', error: startFailureOf(health) };
  const endpoint = endpointOf(pod);
  const ready = pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True');
  if (ready && endpoint !== undefined && health?.phase === 'warm')
    return { state: 'warm', runner: { bootId: health.boot_id, endpoint } };
  const { reason, hopeless } = pendingReason(pod);
  if (hopeless && waitedMs > HOPELESS_AFTER_MS)
    return { state: 'failed', error: new OmicronError('runner_start_failed', reason) };
  return { state: 'pending', reason };
}

export interface WarmParts extends Pick<ProviderContext, 'healthOf' | 'clock'> {
  runners: RunnerPods;
  names: RunnerNames;
  pods: Pick<Watched<V1Pod>, 'changed'>;
  namespace: string;
  nameOf: (runnerId: string) => string;
}

/** Waits until the runner is warm and its name leads to it; see RunnerProvider. */
export async function whenWarm(parts: WarmParts, runnerId: string, signal: AbortSignal): Promise<WarmRunner> {
  const { runners, names, pods, namespace, nameOf, healthOf, clock } = parts;
  let published: Promise<void> | undefined;
  const beganMs = clock.nowMs();
  let reason = 'The pod was not seen.';
  for (;;) {
    const pod = runners.seen(runnerId);
    if (pod) {
      const endpoint = deathOfPod(pod) ? undefined : endpointOf(pod);
      if (endpoint !== undefined && published === undefined) {
        published = names.publish(pod); // while its browser starts
        published.catch(() => undefined);
      }
      const bound = AbortSignal.any([signal, timeoutSignal(HEALTH_TIMEOUT_MS, clock)]);
      const health = endpoint === undefined ? null : await healthOf(endpoint, bound);
      const verdict = warmVerdict(pod, health, clock.nowMs() - beganMs);
      if (verdict.state === 'warm') {
        await published?.catch(throwStartFault); // name servers keep in mind that a name is not there
        return verdict.runner;
      }
      if (verdict.state === 'failed') throw verdict.error;
      reason = verdict.reason;
    } else if (!signal.aborted && (await runners.find(runnerId)) === null) {
      throw new OmicronError('runner_start_failed', POD_GONE);
    }
    if (signal.aborted) throw new OmicronError('runner_start_failed', reason, { cause: signal.reason });
    await pods.changed(nameOf(runnerId), namespace, pod, POLL_MS, signal);
  }
}
