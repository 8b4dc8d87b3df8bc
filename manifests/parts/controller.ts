import type { Construct } from 'constructs';
import { ENV, PORTS, SERVICE_ACCOUNTS, SERVICES } from '../../contract/names.ts';
import type { Environment } from '../environment-type.ts';
import { SECRETS, STORE_KEYS } from '../secrets.ts';
import { collectorKeys, renderControllerSettings } from './configuration.ts';
import { workload } from './deployment.ts';
import { CONTROLLER, portNumber } from './meta.ts';

/** The session controller: two replicas without a leader, behind a Service whose address runners know. */
export function controller(scope: Construct, env: Environment): void {
  const settings = renderControllerSettings(env);
  const get = (path: string) => ({ httpGet: { path, port: portNumber(PORTS.controller) }, timeoutSeconds: 5 });
  workload(scope, {
    name: SERVICES.controller,
    labels: CONTROLLER,
    account: SERVICE_ACCOUNTS.controller,
    apiToken: 'It makes and watches runners: the one program here that speaks to the API server.',
    image: env.images.controller,
    replicas: env.replicas.controller,
    settings,
    secret: SECRETS.controller,
    optionalKeys: [
      ...STORE_KEYS[env.secretStore],
      ...(env.profiles && !env.profiles.keyArn ? [ENV.profileKey] : []),
      ...collectorKeys(env),
    ],
    ports: [{ name: 'http', containerPort: PORTS.controller, protocol: 'TCP' }],
    probes: {
      // Migrations run before it listens.
      startupProbe: { ...get('/healthz'), periodSeconds: 2, failureThreshold: 60 },
      // Checks the database: without it a replica grants nothing.
      readinessProbe: { ...get('/readyz'), periodSeconds: 5, failureThreshold: 2 },
      // Checks only the process: restarting it would not fix an unavailable database.
      livenessProbe: { ...get('/healthz'), periodSeconds: 10, failureThreshold: 3 },
    },
    resources: { cpu: ['100m', '1'], memory: ['256Mi', '512Mi'], ephemeralStorage: ['128Mi', '512Mi'] },
    folders: { '/tmp': '64Mi', '/var/lib/omicron': '64Mi' },
    webIdentity: env.profiles !== undefined && env.artifacts.webIdentityRole !== undefined,
    stopSeconds: Math.ceil(Number(settings[ENV.startSeconds])),
    clusterIp: env.clusterIps.controller,
    ownAddress: ENV.podAddress,
  });
}
