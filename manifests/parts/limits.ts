import { k8s } from 'cdk8s-plus-28';
import type { Construct } from 'constructs';
import { NAMESPACES, TOMBSTONES_MAX } from '../../contract/names.ts';
import type { Environment } from '../environment-type.ts';
import { meta, quantity } from './meta.ts';
import { bytesTimes, cpuTimes } from './quantities.ts';

export const PRIORITIES = {
  system: 'omicron-system',
  runner: 'omicron-runner',
  spare: 'omicron-spare-runner',
} as const;

/**
 * Maximum number of pods in the namespace. The database's permits enforce the capacity (ADR 0002); this is the second
 * line of defence, so it leaves room for pods that have ended but are still counted by the quota.
 */
export const podsMax = (capacity: number): number => capacity + Math.ceil(capacity / 10);

/** Quota and limits of the runners' namespace, and the priority classes. */
export function limits(scope: Construct, env: Environment): void {
  const { browser, uploader } = env.runner;
  const pods = podsMax(env.limits.capacity);
  const cpu = (at: 0 | 1) => quantity(cpuTimes(pods, [browser.cpu[at], uploader.cpu[at]]));
  const memory = (at: 0 | 1) => quantity(bytesTimes(pods, [browser.memory[at], uploader.memory[at]]));
  const disk = (at: 0 | 1) => quantity(bytesTimes(pods, [browser.ephemeralStorage[at], uploader.ephemeralStorage[at]]));
  const count = (number: number) => quantity(String(number));

  new k8s.KubeResourceQuota(scope, 'runner-quota', {
    metadata: meta('runners', { namespace: NAMESPACES.runners, wave: 'isolation' }),
    spec: {
      hard: {
        'count/pods': count(pods),
        // Even if each name had a slice of its own.
        'count/endpointslices.discovery.k8s.io': count(pods + TOMBSTONES_MAX),
        'services.loadbalancers': count(0),
        'services.nodeports': count(0),
        // The right to create pods gives access to Secrets, so there are none.
        'count/secrets': count(0),
        'count/persistentvolumeclaims': count(0),
        'requests.cpu': cpu(0),
        'limits.cpu': cpu(1),
        'requests.memory': memory(0),
        'limits.memory': memory(1),
        'requests.ephemeral-storage': disk(0),
        'limits.ephemeral-storage': disk(1),
      },
    },
  });
  new k8s.KubeLimitRange(scope, 'runner-limits', {
    metadata: meta('runners', { namespace: NAMESPACES.runners, wave: 'isolation' }),
    spec: {
      limits: [
        {
          type: 'Container',
          max: {
            cpu: quantity(browser.cpu[1]),
            memory: quantity(browser.memory[1]),
            'ephemeral-storage': quantity(browser.ephemeralStorage[1]),
          },
        },
      ],
    },
  });
  new k8s.KubePriorityClass(scope, 'priority-system', {
    metadata: meta(PRIORITIES.system, { wave: 'base' }),
    value: 1000,
    description: 'Controller and egress proxy: a full node has room for them, whatever it takes.',
  });
  new k8s.KubePriorityClass(scope, 'priority-runner', {
    metadata: meta(PRIORITIES.runner, { wave: 'base' }),
    value: 0, // like a pod without a class: a pool that fills a node may preempt nothing but placeholders
    description: 'Browsers: they push out the placeholders that keep a node warm, and nothing else.',
  });
  new k8s.KubePriorityClass(scope, 'priority-spare', {
    metadata: meta(PRIORITIES.spare, { wave: 'base' }),
    // The cluster autoscaler adds no node for anything below -10:
    // https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/FAQ.md (expendable pods)
    value: -10,
    preemptionPolicy: 'Never',
    description: 'Placeholders of a size with runners: pushed out at once, they make the autoscaler add a node.',
  });
}
