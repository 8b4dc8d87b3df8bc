import { describe, expect, test } from 'vitest';
import { LABELS, NAMESPACES, PORTS, runnerName, SERVICE_ACCOUNTS } from '../../contract/names.ts';
import { runnerPod } from '../../controller/runners/kubernetes/objects.ts';
import { ENVIRONMENTS } from '../../manifests/environments.ts';
import { CONTROLLER_RIGHTS } from '../../manifests/parts/controller-rights.ts';
import { renderObjects } from '../../manifests/render.ts';
import { arrayOf, readField } from '../../policies/manifests/rule.ts';
import { WATCHDOG_PATIENCE } from '../../runner/watchdog.ts';

// The documents' demands on the objects of the cluster, object by object; docs/adr/0046-what-differs-from-the-documents.md has
// what is otherwise on purpose.

describe.each(Object.values(ENVIRONMENTS))('$name', env => {
  const rendered = [...renderObjects(env).values()];
  const find = (kind: string, name: string, namespace: string) => {
    const found = rendered.find(
      each => each.kind === kind && each.metadata.name === name && each.metadata.namespace === namespace,
    );
    if (!found) throw new Error(`${env.name} has no ${kind} ${namespace}/${name}`);
    return found;
  };

  test('[O9] three namespaces, and nothing in them that the internet reaches', () => {
    const names = rendered.filter(({ kind }) => kind === 'Namespace').map(({ metadata }) => metadata.name);
    expect(names).toEqual(expect.arrayContaining([NAMESPACES.system, NAMESPACES.runners]));
    // the platform's is there already, unless it is made here; then nothing at all is rendered into it
    const inApi = rendered.filter(({ kind, metadata }) =>
      kind === 'Namespace' ? metadata.name === NAMESPACES.api : metadata.namespace === NAMESPACES.api,
    );
    expect(inApi.map(({ kind }) => kind)).toEqual(
      env.apiNamespace === 'ours' ? ['Namespace', 'NetworkPolicy', 'NetworkPolicy'] : [],
    );
    expect(rendered.filter(({ kind }) => /^(Ingress|Gateway|HTTPRoute|.*Route)$/.test(kind))).toEqual([]);
    for (const service of rendered.filter(({ kind }) => kind === 'Service')) {
      expect(['ClusterIP', undefined]).toContain(readField(service, 'spec', 'type'));
      expect(readField(service, 'spec', 'externalIPs')).toBeUndefined();
    }
    const { spec } = find('NetworkPolicy', 'runners', NAMESPACES.runners);
    const peers = arrayOf(readField(spec, 'ingress')).flatMap(rule => arrayOf(readField(rule, 'from')));
    expect(peers.length).toBeGreaterThan(0);
    for (const peer of peers) expect(readField(peer, 'ipBlock')).toBeUndefined();
  });

  test('[O10] the controller is a Deployment with an account, the least rights and a ClusterIP Service', () => {
    const app = 'browser-session-controller';
    const pod = readField(find('Deployment', app, NAMESPACES.system), 'spec', 'template');
    expect(readField(pod, 'spec', 'serviceAccountName')).toBe(SERVICE_ACCOUNTS.controller);
    find('ServiceAccount', SERVICE_ACCOUNTS.controller, NAMESPACES.system);
    const service = find('Service', app, NAMESPACES.system);
    expect(service.spec).toMatchObject({ type: 'ClusterIP', ports: [{ port: PORTS.controller }] });
    expect(readField(pod, 'metadata', 'labels')).toMatchObject(readField(service, 'spec', 'selector') as object); // a map of labels
    expect(find('RoleBinding', app, NAMESPACES.runners)).toMatchObject({
      roleRef: { kind: 'Role', name: app },
      subjects: [{ kind: 'ServiceAccount', name: SERVICE_ACCOUNTS.controller, namespace: NAMESPACES.system }],
    });
    const rules = arrayOf(readField(find('Role', app, NAMESPACES.runners), 'rules'));
    expect(rules.map(rule => [readField(rule, 'resources', '0'), readField(rule, 'verbs')])).toEqual(
      CONTROLLER_RIGHTS.map(({ resource, verbs }) => [resource, Object.keys(verbs)]),
    );
    const granted = rules.flatMap(rule => arrayOf(readField(rule, 'resources')));
    expect(granted).toEqual(expect.arrayContaining(['pods', 'endpointslices']));
    for (const unneeded of ['pods/log', 'pods/exec', 'services', 'endpoints', 'secrets'])
      expect(granted).not.toContain(unneeded);
  });

  test('[O11] a runner pod has the name, labels, volumes, sizes, node and probes of the document', () => {
    const id = '6c8f1f6e-0000-4000-8000-000000000001';
    const template = find('PodTemplate', 'pw-mcp-runner', NAMESPACES.runners);
    const pod = runnerPod(
      { metadata: { ...template.metadata, uid: 'u' }, template: Object(readField(template, 'template')) },
      id,
      runnerName(id),
      'runners-x-0',
    );
    expect(pod.metadata).toMatchObject({
      name: `pw-mcp-${id}`,
      labels: { app: 'pw-mcp-runner', [LABELS.runnerId]: id },
    });
    expect(pod.spec).toMatchObject({
      nodeSelector: { workload: 'browser' },
      tolerations: [{ key: 'workload', value: 'browser', effect: 'NoSchedule' }],
      restartPolicy: 'Never',
      containers: [
        {
          readinessProbe: { tcpSocket: { port: 8080 } },
          volumeMounts: expect.arrayContaining([
            { name: 'output', mountPath: '/output' },
            { name: 'shm', mountPath: '/dev/shm' },
          ]),
        },
      ],
      volumes: expect.arrayContaining([
        { name: 'output', emptyDir: expect.anything() },
        { name: 'shm', emptyDir: expect.objectContaining({ medium: 'Memory' }) },
      ]),
    });
    // The watchdog ends a silent runner before the kubelet, which would wait for the grace of the whole pod.
    const {
      failureThreshold = 0,
      periodSeconds = 0,
      timeoutSeconds = 0,
    } = pod.spec?.containers[0]?.livenessProbe ?? {};
    const { askEveryMs, answerMs, silentMax } = WATCHDOG_PATIENCE;
    expect((failureThreshold - 1) * periodSeconds + timeoutSeconds).toBeGreaterThan(
      (silentMax * (askEveryMs + answerMs)) / 1_000,
    );
    const resources = pod.spec?.containers[0]?.resources;
    expect(resources).toMatchObject({ limits: { cpu: '2', memory: '4Gi' } });
    // prod has the lean shape, and local, for two cores, less than that
    if (env.name === 'dev') expect(resources).toMatchObject({ requests: { cpu: '1', memory: '2Gi' } });
  });
});

test("the egress proxy may connect to no address of the deployment's own, a VPC of public addresses included", () => {
  const { prod } = ENVIRONMENTS;
  const env = { ...prod, ownCidrs: ['30.40.0.0/16', '10.60.0.0/16', '203.0.113.7/32'] };
  const policy = [...renderObjects(env).values()].find(
    ({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.name === 'egress-proxy',
  );
  const blocks = arrayOf(readField(policy, 'spec', 'egress')).flatMap(rule =>
    arrayOf(readField(rule, 'to')).map(to => readField(to, 'ipBlock')),
  );
  const [internet] = blocks.filter(block => block !== undefined);
  const except = arrayOf(readField(internet, 'except'));
  expect(except).toEqual(expect.arrayContaining(['10.0.0.0/8', '30.40.0.0/16', '203.0.113.7/32']));
  expect(except).not.toContain('10.60.0.0/16'); // within 10.0.0.0/8
});
