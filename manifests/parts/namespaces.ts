import { k8s } from 'cdk8s-plus-28';
import type { Construct } from 'constructs';
import { NAMESPACES } from '../../contract/names.ts';
import type { Environment } from '../environment-type.ts';
import { KEEP, meta } from './meta.ts';

/** https://kubernetes.io/docs/concepts/security/pod-security-standards/ */
const restrictedLabels = (version: string) =>
  Object.fromEntries(
    ['enforce', 'audit', 'warn'].flatMap(mode => [
      [`pod-security.kubernetes.io/${mode}`, 'restricted'],
      [`pod-security.kubernetes.io/${mode}-version`, version],
    ]),
  );

/** The namespaces. The API's holds pods of the platform, so Argo CD never deletes it; one that exists is left alone. */
export function namespaces(scope: Construct, env: Environment): void {
  for (const name of Object.values(NAMESPACES)) {
    if (name === NAMESPACES.api && env.apiNamespace === 'existing') continue;
    new k8s.KubeNamespace(scope, `namespace-${name}`, {
      metadata: meta(name, {
        wave: 'base',
        labels: restrictedLabels(env.podSecurityVersion),
        ...(name === NAMESPACES.api ? { annotations: KEEP } : {}),
      }),
    });
  }
}
