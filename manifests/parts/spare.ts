import { k8s } from 'cdk8s-plus-28';
import type { Construct } from 'constructs';
import { BROWSER_NODES, LABELS, NAMESPACES } from '../../contract/names.ts';
import type { Environment } from '../environment-type.ts';
import { SPARE_ACCOUNT } from './accounts.ts';
import { containerSecurity, PULL, podSecurity, resources } from './container.ts';
import { PRIORITIES } from './limits.ts';
import { meta } from './meta.ts';
import { bytesTimes, cpuTimes } from './quantities.ts';
import { runnerNodes } from './runner-template.ts';

const NAME = 'spare-runner';

/**
 * Placeholders on browser nodes, each of a runner's size. A runner that finds no room preempts one and starts at
 * once; the pending placeholder makes the autoscaler add the next node. Not in the runners' namespace: only runners
 * are there.
 */
export function spareRunners(scope: Construct, env: Environment): void {
  if (env.spareRunners === 0) return;
  const { browser, uploader } = env.runner;
  const both = (key: 'cpu' | 'memory' | 'ephemeralStorage', times = key === 'cpu' ? cpuTimes : bytesTimes) => {
    const amount = times(1, [browser[key][0], uploader[key][0]]);
    return [amount, amount] as const;
  };
  const labels = { [LABELS.app]: NAME };
  new k8s.KubeDeployment(scope, 'spare-runners', {
    metadata: meta(NAME, {
      namespace: NAMESPACES.system,
      wave: 'after',
      labels,
      waives: Object.fromEntries(
        [
          'no-liveness-probe',
          'no-readiness-probe',
          'no-topology-spread',
          'rolling-update-strategy',
          'no-disruption-budget',
        ].map(rule => [rule, 'A placeholder does nothing and is there to be pushed out.']),
      ),
    }),
    spec: {
      replicas: env.spareRunners,
      revisionHistoryLimit: 2,
      strategy: { type: 'Recreate' },
      // Placeholders may be pending for as long as the autoscaler needs: they must not block a sync.
      progressDeadlineSeconds: 3600,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels: { ...labels, 'app.kubernetes.io/part-of': 'omicron-browser' } },
        spec: {
          serviceAccountName: SPARE_ACCOUNT,
          automountServiceAccountToken: false,
          enableServiceLinks: false,
          priorityClassName: PRIORITIES.spare,
          terminationGracePeriodSeconds: 0,
          nodeSelector: runnerNodes(env),
          tolerations: [{ ...BROWSER_NODES, operator: 'Equal' }],
          securityContext: podSecurity,
          containers: [
            {
              name: 'pause',
              image: env.images.pause,
              imagePullPolicy: PULL,
              resources: resources({
                cpu: both('cpu'),
                memory: both('memory'),
                ephemeralStorage: both('ephemeralStorage'),
              }),
              securityContext: containerSecurity,
            },
          ],
        },
      },
    },
  });
}
