import { FIXTURES } from '../../cluster/fixtures/objects.ts';
import { apply, kubectl } from '../../cluster/kubectl.ts';
import type { Environment } from '../../manifests/environment-type.ts';
import { buildCollector, collectorArgument } from '../collector/real-collector.ts';

const NAME = 'collector';
/** The Service's port is not the pod's: NetworkPolicies apply to the latter. */
const PORT = { service: 4318, pod: 14_318, sink: 14_319 } as const;
const LABELS = { 'omicron.dev/fixture': NAME, 'omicron.dev/stands-for': NAME };
const PROGRAM = '/tools/otelcol';

/** The end of the collector's pipeline, for Node.js: it keeps what comes, and answers a GET with all of it. */
const SINK = `
const came = [];
require('node:http').createServer(async (request, response) => {
  if (request.method === 'GET') return response.end(JSON.stringify(came));
  const parts = [];
  for await (const part of request) parts.push(part);
  came.push({ path: request.url, body: Buffer.concat(parts).toString() });
  response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
}).listen(${PORT.sink});
`;

/** The collector of the tests, as an environment names it. */
export const COLLECTOR = {
  endpoint: `http://${NAME}.${FIXTURES}.svc.cluster.local:${PORT.service}`,
  to: [
    {
      namespaceSelector: { matchLabels: { 'omicron.dev/fixtures': 'true' } },
      podSelector: { matchLabels: { 'omicron.dev/stands-for': NAME } },
    },
  ],
  ports: [PORT.pod],
} satisfies Environment['collector'];

/** OpenTelemetry's own collector as a pod of the cluster, built on this machine. */
export async function startClusterCollector() {
  const program = buildCollector();
  const image = ['-n', FIXTURES, 'get', 'deployment', 'sites', '-o'];
  const container = {
    image: await kubectl([...image, 'jsonpath={.spec.template.spec.containers[0].image}']),
    imagePullPolicy: 'IfNotPresent',
    volumeMounts: [{ name: 'tools', mountPath: '/tools' }],
  };
  const argument = collectorArgument(`0.0.0.0:${PORT.pod}`, `http://127.0.0.1:${PORT.sink}`);
  const run = `until [ -e ${PROGRAM}.whole ]; do sleep 0.2; done; exec ${PROGRAM} "$0"`;
  const metadata = { name: NAME, namespace: FIXTURES, labels: LABELS };
  const pod = ['-n', FIXTURES, 'exec', NAME, '-c', 'sink', '--'];
  const stop = async () => {
    await kubectl(['-n', FIXTURES, 'delete', 'pod,service', NAME, '--ignore-not-found', '--wait=true']);
  };
  await stop();
  await apply([
    {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata,
      spec: {
        terminationGracePeriodSeconds: 0,
        securityContext: { runAsUser: 1000, runAsNonRoot: true, fsGroup: 1000 },
        volumes: [{ name: 'tools', emptyDir: {} }],
        containers: [
          { ...container, name: 'sink', command: ['node', '-e', SINK] },
          {
            ...container,
            name: 'collector',
            command: ['sh', '-c', run, argument],
            readinessProbe: { tcpSocket: { port: PORT.pod }, periodSeconds: 1 },
          },
        ],
      },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata,
      spec: { selector: LABELS, ports: [{ port: PORT.service, targetPort: PORT.pod }] },
    },
  ]);
  const waited = ['-n', FIXTURES, 'wait', `pod/${NAME}`, '--timeout=100s'];
  await kubectl([...waited, '--for=jsonpath={.status.phase}=Running']);
  await kubectl(['cp', program, `${FIXTURES}/${NAME}:${PROGRAM}`, '-c', 'sink']);
  await kubectl([...pod, 'touch', `${PROGRAM}.whole`]);
  await kubectl([...waited, '--for=condition=Ready']);
  const address = async (kind: string, path: string) =>
    (await kubectl(['-n', FIXTURES, 'get', kind, NAME, '-o', `jsonpath={${path}}`])).trim();
  const read = `fetch('http://127.0.0.1:${PORT.sink}').then(answer => answer.text()).then(console.log)`;
  return {
    /** Its pod and its Service. */
    addresses: [
      { host: await address('pod', '.status.podIP'), port: PORT.pod },
      { host: await address('service', '.spec.clusterIP'), port: PORT.service },
    ],
    /** Everything that it has passed on. */
    received: async (): Promise<{ path: string; body: string }[]> =>
      JSON.parse(await kubectl([...pod, 'node', '-e', read])),
    stop,
  };
}
