import type { V1ContainerStatus, V1Pod } from '@kubernetes/client-node';
import * as z from 'zod';
import type { Death } from '../../ports/runners.ts';

/** The container in which the browser runs; the uploader beside it may live longer. */
const BROWSER = 'browser';

/** Characters of a container's last log line. */
const LAST_LINE_MAX = 500;

/** 128 and SIGKILL, which the kubelet sends to a container that ignores SIGTERM, and the runner's watchdog to one that does not answer. */
const KILLED = 137;

/** The last line of a runner that its watchdog killed (runner/watchdog.program.js). */
const watchdogLine = z.object({ why: z.string().max(LAST_LINE_MAX) });

const ASK_AGAIN = 'Request a new lease.';
export const POD_GONE = `The pod no longer exists. ${ASK_AGAIN}`;

/** Why the kubelet or the control plane removes a pod. */
function describeDisruption(pod: V1Pod): string | undefined {
  const found = pod.status?.conditions?.find(({ type, status }) => type === 'DisruptionTarget' && status === 'True');
  return found && `${found.reason ?? 'disruption'}: ${found.message ?? 'the node is being drained'}`;
}

function describeTermination(status: V1ContainerStatus | undefined): string | undefined {
  const end = status?.state?.terminated;
  if (!end) return undefined;
  if (end.reason === 'OOMKilled')
    return 'The browser ran out of memory (OOMKilled); give runners more memory, or visit lighter pages.';
  // The end of its log, by the template's terminationMessagePolicy.
  const lastLine = end.message?.trim().split('\n').at(-1)?.slice(0, LAST_LINE_MAX);
  if (end.exitCode === KILLED) {
    const why = watchdogReason(lastLine ?? '') ?? 'most often it did not answer its liveness probe';
    return `The browser's container was killed (exit code ${KILLED}): ${why}.`;
  }
  return `The browser's container ended (${end.reason ?? 'no reason'}, exit code ${end.exitCode})${lastLine ? `: ${lastLine}` : ''}.`;
}

function watchdogReason(line: string): string | undefined {
  try {
    return watchdogLine.parse(JSON.parse(line)).why;
  } catch {
    return undefined;
  }
}

/** Why this runner is dead or dying, from the pod alone. Null: it lives, or is only starting. */
export function deathOfPod(pod: V1Pod): Death | null {
  const browser = pod.status?.containerStatuses?.find(({ name }) => name === BROWSER);
  const why =
    describeDisruption(pod) ?? (pod.status?.reason ? `${pod.status.reason}: ${pod.status.message ?? ''}` : undefined);
  const end = describeTermination(browser);
  if (end) return { ended: true, reason: `${why ? `${why} ` : ''}${end} ${ASK_AGAIN}` };
  if (pod.status?.phase === 'Failed' || pod.status?.phase === 'Succeeded')
    return { ended: true, reason: `The pod ended${why ? ` (${why})` : ''}. ${ASK_AGAIN}` };
  if (pod.metadata?.deletionTimestamp)
    return { ended: false, reason: `The pod is being removed${why ? ` (${why})` : ''}. ${ASK_AGAIN}` };
  return null;
}

const BROKEN_IMAGE = [
  'ErrImagePull',
  'ImagePullBackOff',
  'InvalidImageName',
  'ErrImageNeverPull',
  'CreateContainerConfigError',
];

export interface Pending {
  /** Waiting longer does not help. */
  hopeless: boolean;
  reason: string;
}

/** Why a pod is not ready yet, in the words of the scheduler or the kubelet. */
export function pendingReason(pod: V1Pod): Pending {
  const scheduled = pod.status?.conditions?.find(({ type }) => type === 'PodScheduled');
  if (scheduled?.status === 'False')
    return {
      hopeless: false,
      reason: `The pod cannot be scheduled (${scheduled.reason ?? 'Pending'}): ${scheduled.message ?? ''}`,
    };
  const statuses = [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])];
  for (const { name, image, state } of statuses) {
    const waiting = state?.waiting;
    if (waiting?.reason && BROKEN_IMAGE.includes(waiting.reason))
      return {
        hopeless: true,
        reason: `Container ${name} cannot start (${waiting.reason}, image ${image}): ${waiting.message ?? 'check the image'}`,
      };
    if (waiting?.reason === 'CrashLoopBackOff')
      return { hopeless: true, reason: `Container ${name} crashes when it starts; read its log.` };
  }
  return { hopeless: false, reason: 'The pod runs but its browser is not ready; read its log.' };
}
