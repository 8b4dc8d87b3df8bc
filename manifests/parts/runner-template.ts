import { k8s } from 'cdk8s-plus-28';
import type { Construct } from 'constructs';
import { ARCHITECTURE_LABEL, BROWSER_NODES, NAMESPACES, RUNNER_TEMPLATE } from '../../contract/names.ts';
import type { Environment } from '../environment-type.ts';
import { podSecurity, spreadConstraints } from './container.ts';
import { PRIORITIES } from './limits.ts';
import { meta, RUNNER } from './meta.ts';
import { BROWSER, browser, runnerGraceSeconds, uploader, volumes } from './runner-containers.ts';
import { hostAliases, runnerAccount } from './runner-endpoints.ts';

/**
 * The template of every runner; the controller creates pods from it. A change replaces warm runners and no leased
 * one.
 */
export function runnerTemplate(scope: Construct, env: Environment): void {
  new k8s.KubePodTemplate(scope, 'runner-template', {
    metadata: meta(RUNNER_TEMPLATE, { namespace: NAMESPACES.runners, wave: 'config' }),
    template: {
      metadata: {
        labels: { ...RUNNER, 'app.kubernetes.io/part-of': 'omicron-browser' },
        annotations: {
          // The IRSA webhook gives its credential to the uploader alone.
          // https://github.com/aws/amazon-eks-pod-identity-webhook#pod-annotations
          'eks.amazonaws.com/skip-containers': BROWSER,
          'cluster-autoscaler.kubernetes.io/safe-to-evict': 'false',
          'kubectl.kubernetes.io/default-container': BROWSER,
        },
      },
      spec: runnerPodSpec(env),
    },
  });
}

/** Labels of the nodes on which runners and their placeholders run. */
export const runnerNodes = ({ runner: { architecture } }: Environment): Record<string, string> => ({
  [BROWSER_NODES.key]: BROWSER_NODES.value,
  ...(architecture ? { [ARCHITECTURE_LABEL]: architecture } : {}),
});

function runnerPodSpec(env: Environment): k8s.PodSpec {
  return {
    ...runnerAccount,
    restartPolicy: 'Never', // a runner serves one lease and is never reused
    terminationGracePeriodSeconds: runnerGraceSeconds(env),
    priorityClassName: PRIORITIES.runner,
    ...(env.runner.runtimeClassName ? { runtimeClassName: env.runner.runtimeClassName } : {}),
    nodeSelector: runnerNodes(env),
    tolerations: [{ ...BROWSER_NODES, operator: 'Equal' }],
    topologySpreadConstraints: spreadConstraints(RUNNER),
    enableServiceLinks: false,
    // No DNS server listens there, so a lookup fails at once, not after five seconds. Names come from hostAliases.
    dnsPolicy: 'None',
    dnsConfig: { nameservers: ['127.0.0.1'] },
    hostAliases: hostAliases(env),
    securityContext: podSecurity,
    initContainers: [uploader(env)],
    containers: [browser(env)],
    volumes: volumes(env),
  };
}
