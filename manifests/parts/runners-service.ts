import { k8s } from 'cdk8s-plus-28';
import type { Construct } from 'constructs';
import { NAMESPACES, PORTS, RUNNERS_SERVICE } from '../../contract/names.ts';
import { meta, portNumber } from './meta.ts';

/**
 * The Service below which runners have their names. Without a selector, so that Kubernetes writes no endpoints for it: controllers write them, one
 * entry a runner (docs/adr/0111-one-headless-service.md).
 */
export function runnersService(scope: Construct): void {
  new k8s.KubeService(scope, 'service-runners', {
    metadata: meta(RUNNERS_SERVICE, { namespace: NAMESPACES.runners, wave: 'config' }),
    spec: {
      type: 'ClusterIP',
      clusterIp: 'None',
      ports: [{ name: 'mcp', port: PORTS.runner, targetPort: portNumber(PORTS.runner), protocol: 'TCP' }],
    },
  });
}
