import type { Construct } from 'constructs';
import { ENV, PORTS, SERVICE_ACCOUNTS, SERVICES } from '../../contract/names.ts';
import type { Environment } from '../environment-type.ts';
import { SECRETS } from '../secrets.ts';
import { collectorKeys, renderEgressSettings } from './configuration.ts';
import { workload } from './deployment.ts';
import { EGRESS, portNumber } from './meta.ts';

/** The only way out of a runner. */
export function egress(scope: Construct, env: Environment): void {
  const settings = renderEgressSettings(env);
  const health = { httpGet: { path: '/healthz', port: portNumber(PORTS.egressAdmin) }, timeoutSeconds: 5 };
  workload(scope, {
    name: SERVICES.egress,
    labels: EGRESS,
    account: SERVICE_ACCOUNTS.egress,
    image: env.images.egress,
    replicas: env.replicas.egress,
    settings,
    secret: SECRETS.egress,
    optionalKeys: collectorKeys(env),
    ports: [
      { name: 'proxy', containerPort: PORTS.egress, protocol: 'TCP' },
      { name: 'admin', containerPort: PORTS.egressAdmin, protocol: 'TCP' },
    ],
    probes: {
      startupProbe: { ...health, periodSeconds: 2, failureThreshold: 30 },
      readinessProbe: { ...health, periodSeconds: 5, failureThreshold: 2 },
      livenessProbe: { ...health, periodSeconds: 10, failureThreshold: 3 },
    },
    resources: { cpu: ['100m', '2'], memory: ['128Mi', '512Mi'], ephemeralStorage: ['64Mi', '128Mi'] },
    folders: { '/tmp': '64Mi' },
    stopSeconds: Math.ceil(Number(settings[ENV.egressGraceSeconds])),
    clusterIp: env.clusterIps.egress,
  });
}
