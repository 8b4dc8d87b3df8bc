import { randomUUID } from 'node:crypto';
import {
  CoreV1Api,
  DiscoveryV1Api,
  type KubeConfig,
  type V1EndpointSlice,
  type V1Pod,
  type V1Service,
} from '@kubernetes/client-node';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { kubectl, stream, tryKubectl } from '../../cluster/kubectl.ts';
import {
  ENDED,
  LABELS,
  NAMESPACES,
  PORTS,
  RUNNER_TEMPLATE,
  runnerName,
  SERVICE_ACCOUNTS,
} from '../../contract/names.ts';
import { MERGE_PATCH } from '../../controller/runners/kubernetes/api.ts';
import { runnerPod, runnerService, tombstoneEndpoint } from '../../controller/runners/kubernetes/objects.ts';
import { ENVIRONMENTS } from '../../manifests/environments.ts';
import { CONTROLLER_RIGHTS } from '../../manifests/parts/controller-rights.ts';
import { type KubernetesObject, renderObjects } from '../../manifests/render.ts';
import { eventually } from '../eventually.ts';
import { pushed } from '../manifests/pushed.ts';
import { HOSTILE_PODS } from './hostile-pods.ts';
import { argoCrds, Lent } from './lent.ts';
import { addressOf, podsOf } from './pods.ts';
import { asController } from './runners-namespace-copy.ts';

const CONTROLLER = `system:serviceaccount:${NAMESPACES.system}:${SERVICE_ACCOUNTS.controller}`;
const RUNNER_ID = '6f9f4b3e-8f5d-4c07-9d1b-0d9f6f2b7a11';
const inRunners = ['-n', NAMESPACES.runners];
const local = [...renderObjects(ENVIRONMENTS.local).values()];
/** Addresses of the local Service range that nothing has. */
const FREE = { controller: '10.96.0.200', egress: '10.96.0.201' };
const cluster = new Lent();

/** "admitted", or the words of the refusal. */
const answerOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'admitted',
    (error: unknown) => String(error),
  );

/** The pod as the controller makes it, from the template that the API server holds. */
let pod: ReturnType<typeof runnerPod>;
const createPod = (body: unknown, as = CONTROLLER) =>
  tryKubectl(
    ['create', ...inRunners, '--dry-run=server', '-f', '-', ...(as ? ['--as', as] : [])],
    JSON.stringify(body),
  );

beforeAll(async () => {
  await cluster.borrow(argoCrds());
  const template = JSON.parse(await kubectl(['get', ...inRunners, 'podtemplate', RUNNER_TEMPLATE, '-o', 'json']));
  pod = runnerPod(template, RUNNER_ID, runnerName(RUNNER_ID));
  // A new policy is enforced within a moment, not at once.
  await eventually('every policy is enforced', async () => {
    const policies = new Map(HOSTILE_PODS.map(hostile => [hostile.policy, hostile]));
    const answers = await Promise.all(
      [...policies.values()].map(({ change }) => createPod(change(structuredClone(pod)))),
    );
    return answers.every(({ stderr }) => /ValidatingAdmissionPolicy|PodSecurity/.test(stderr));
  });
});

afterAll(() => cluster.giveBack());

describe('the API server', () => {
  // Recreated under other names and never applied: beside what is deployed here, and not merged with it.
  const NAMESPACED = '-copy';
  const EVERYWHERE = '-other';
  const namespaces = [...Object.values(NAMESPACES), 'argocd'].map(name => name + NAMESPACED);
  beforeAll(async () => {
    await kubectl(['delete', 'namespace', ...namespaces, '--ignore-not-found']); // of a run that was cut short
    for (const name of namespaces) await kubectl(['create', 'namespace', name]);
  });
  afterAll(async () => void (await kubectl(['delete', 'namespace', ...namespaces, '--wait=false'])));
  const copyOf = ({ metadata, ...rest }: KubernetesObject) => ({
    ...rest,
    metadata: metadata.namespace
      ? { ...metadata, namespace: metadata.namespace + NAMESPACED }
      : { ...metadata, name: metadata.name + EVERYWHERE },
  });

  test.each(Object.values(ENVIRONMENTS))('accepts every rendered object of $name, strictly', async env => {
    const all = [...renderObjects(pushed(env)).values()].filter(
      ({ apiVersion }) => !apiVersion.startsWith('monitoring.'),
    );
    // A cluster takes only Services of its own range, and no address twice.
    const text = stream(all.map(copyOf))
      .replaceAll(env.clusterIps.controller, FREE.controller)
      .replaceAll(env.clusterIps.egress, FREE.egress);
    const { stderr, stdout } = await tryKubectl(
      ['apply', '--server-side', '--dry-run=server', '--validate=strict', '-o', 'json', '-f', '-'],
      text,
    );
    expect(stderr).toBe('');
    // Defaults are added, nothing is changed: another spelling (1000m for 1) would be permanent drift to Argo CD.
    const stored = z.object({ items: z.array(z.unknown()) }).parse(JSON.parse(stdout)).items;
    expect(stored).toHaveLength(all.length);
    for (const [index, line] of text.split('\n').entries()) expect(stored[index]).toMatchObject(JSON.parse(line));
  });

  test('refuses what is rendered of an environment whose images are not pushed, with what to run', async () => {
    const images = { ...ENVIRONMENTS.prod.images, controller: '', runner: '', egress: '' };
    const all = [...renderObjects({ ...ENVIRONMENTS.prod, images }).values()];
    const template = all.filter(each => JSON.stringify(each).includes('"image":""'));
    expect(template.map(({ kind }) => kind).sort()).toEqual(['Deployment', 'Deployment', 'PodTemplate']);
    for (const object of template) {
      const { ok, stderr } = await tryKubectl(
        ['apply', '--server-side', '--dry-run=server', '-f', '-'],
        stream([copyOf(object)]),
      );
      expect(ok).toBe(false);
      expect(stderr).toMatch(/image: Required value/);
      expect(stderr).toMatch(/run .*npm run images -- --push prod/);
    }
  });

  test('finds no type error in an expression of the admission policies', async () => {
    const list = JSON.parse(await kubectl(['get', 'validatingadmissionpolicies', '-o', 'json'])) as {
      items: { metadata: { name: string }; status?: { typeChecking?: { expressionWarnings?: unknown[] } } }[];
    };
    const ours = list.items.filter(({ metadata }) => metadata.name.startsWith('runner-'));
    expect(ours.length).toBe(local.filter(({ kind }) => kind === 'ValidatingAdmissionPolicy').length);
    expect(ours.flatMap(({ status }) => status?.typeChecking?.expressionWarnings ?? [])).toEqual([]);
  });
});

describe("the runners' namespace", () => {
  test('admits the pod that the controller makes from the template, and its Service', async () => {
    expect(await createPod(pod)).toMatchObject({ ok: true });
    const service = runnerService({ ...pod, metadata: { ...pod.metadata, uid: RUNNER_ID } }, RUNNER_ID);
    expect(await createPod(service)).toMatchObject({ ok: true });
  });

  test('admits the pod as the IRSA webhook of EKS leaves it', async () => {
    const [uploader] = pod.spec?.initContainers ?? [];
    expect(uploader?.env?.map(({ name }) => name)).toContain('AWS_WEB_IDENTITY_TOKEN_FILE');
    const changed = structuredClone(pod);
    changed.spec?.initContainers?.[0]?.env?.push({ name: 'AWS_STS_REGIONAL_ENDPOINTS', value: 'regional' });
    expect(await createPod(changed)).toMatchObject({ ok: true });
  });

  test("refuses the same pod from an administrator, and another workload's from the Deployment's own controller", async () => {
    expect((await createPod(pod, '')).stderr).toContain("ValidatingAdmissionPolicy 'runner-pod-by-controller'");
    const replicaSets = 'system:serviceaccount:kube-system:replicaset-controller';
    expect((await createPod(pod, replicaSets)).stderr).toContain(
      "ValidatingAdmissionPolicy 'runner-pod-by-controller'",
    );
  });

  test('refuses a privileged pod and one of the host by Pod Security too', async () => {
    for (const name of ['of the host network', 'privileged']) {
      const hostile = HOSTILE_PODS.find(each => each.what === name);
      expect((await createPod(hostile?.change(structuredClone(pod)))).stderr).toContain(
        'violates PodSecurity "restricted',
      );
    }
  });

  test('refuses a pod that mounts a token for the API server, for its account and for the volume that comes with it', async () => {
    const changed = structuredClone(pod);
    if (changed.spec) changed.spec.automountServiceAccountToken = true;
    const { stderr } = await createPod(changed);
    expect(stderr).toMatch(/ValidatingAdmissionPolicy 'runner-pod-(identity|volumes)'/); // whichever is heard first
  });

  describe('with Pod Security out of the way', () => {
    const enforce = (level: string) =>
      kubectl(['label', 'namespace', NAMESPACES.runners, '--overwrite', `pod-security.kubernetes.io/enforce=${level}`]);
    beforeAll(async () => void (await enforce('privileged')));
    afterAll(async () => void (await enforce('restricted')));

    test.each(HOSTILE_PODS)('refuses a pod $what by the policy $policy', async ({ policy, message, change }) => {
      const { ok, stderr } = await createPod(change(structuredClone(pod)));
      expect(ok).toBe(false);
      expect(stderr).toContain(`ValidatingAdmissionPolicy '${policy}'`);
      expect(stderr).toContain(message);
    });
  });

  describe('with a runner in it', () => {
    let name: string;
    let path: string;
    beforeAll(async () => {
      const [warm] = await eventually('the pool holds one', async () => {
        const pods = await podsOf(NAMESPACES.runners, `${LABELS.state}=warm`);
        return pods.length > 0 && pods;
      });
      name = warm?.metadata?.name ?? '';
      path = `/api/v1/namespaces/${NAMESPACES.runners}/pods/${name}`;
    });

    test.each([
      ['exec', 'exec?command=id&stdout=true'],
      ['attach', 'attach?stdout=true'],
      ['portforward', 'portforward?ports=8080'],
      ['proxy', 'proxy/mcp'],
    ])('a runner cannot be entered by %s', async (_, what) => {
      const { stderr } = await tryKubectl(['create', '--raw', `${path}/${what}`, '-f', '-'], '');
      expect(stderr).toContain("ValidatingAdmissionPolicy 'runner-pod-no-exec'");
    });

    test('no container can be added to a runner', async () => {
      const debug = ['debug', ...inRunners, name, '--image', ENVIRONMENTS.local.images.runner, '--target', 'browser'];
      const { stderr } = await tryKubectl([...debug, '--profile', 'restricted', '--', 'id']);
      expect(stderr).toContain("ValidatingAdmissionPolicy 'runner-pod-no-debug'");
    });

    test('its image stays, its labels change as the claim changes them', async () => {
      const image = ['set', 'image', ...inRunners, `pod/${name}`, 'browser=localhost/other:1', '--dry-run=server'];
      expect((await tryKubectl(image)).stderr).toContain("ValidatingAdmissionPolicy 'runner-pod-image-stays'");
      const label = ['label', ...inRunners, 'pod', name, `${LABELS.state}=leased`, '--overwrite', '--dry-run=server'];
      expect(await tryKubectl([...label, '--as', CONTROLLER])).toMatchObject({ ok: true });
    });

    describe("with the token of a controller's pod", () => {
      let controller: V1Pod;
      let holder: KubeConfig;
      let victim: V1Service;
      beforeAll(async () => {
        const selector = `${LABELS.app}=${LABELS.controllerApp}`;
        const pods = await podsOf(NAMESPACES.system, selector);
        controller = pods.find(({ status }) => status?.phase === 'Running') ?? {};
        holder = await asController(controller.metadata?.name);
        victim = JSON.parse(await kubectl(['get', ...inRunners, 'service', name, '-o', 'json']));
      });
      const dryRun = { namespace: NAMESPACES.runners, dryRun: 'All' };
      const createService = (body: V1Service, config = holder) =>
        answerOf(config.makeApiClient(CoreV1Api).createNamespacedService({ ...dryRun, body }));
      const patchService = (body: object) =>
        answerOf(
          holder.makeApiClient(CoreV1Api).patchNamespacedService({ ...dryRun, name, body: { ...body } }, MERGE_PATCH),
        );
      const createSlice = (body: V1EndpointSlice, config = holder) =>
        answerOf(config.makeApiClient(DiscoveryV1Api).createNamespacedEndpointSlice({ ...dryRun, body }));
      const INSIDE = "ValidatingAdmissionPolicy 'runner-service-inside'";
      const TOMBSTONE = "ValidatingAdmissionPolicy 'runner-endpoint-of-"; // whichever is heard first

      test('the name of a runner leads to no other runner, address or port', async () => {
        const other = randomUUID();
        const own = runnerService({ metadata: { name: runnerName(other), uid: other } }, other);
        expect(await createService(own)).toBe('admitted');
        const { selector: _, ...unselected } = own.spec ?? {};
        const theirs = victim.spec?.selector ?? {};
        for (const spec of [
          unselected,
          { ...own.spec, selector: theirs },
          { ...own.spec, selector: { [LABELS.app]: LABELS.runnerApp } },
          { ...own.spec, selector: { ...own.spec?.selector, [LABELS.state]: 'warm' } },
          { ...own.spec, selector: { any: 'other' } },
          { ...own.spec, externalIPs: ['192.0.2.1'] },
          { ...own.spec, ports: [{ name: 'mcp', port: PORTS.runner, targetPort: 22 }] },
          { ...unselected, type: 'ExternalName', externalName: 'a.test' },
        ])
          expect(await createService({ ...own, spec }), JSON.stringify(spec)).toContain(INSIDE);
        // The name of a live runner, for what the holder would create once it has deleted the Service.
        expect(await createService({ ...own, metadata: { ...own.metadata, name } })).toContain(INSIDE);
        expect(await patchService({ spec: { selector: { [LABELS.runnerId]: other } } })).toContain(INSIDE);
        expect(await patchService({ spec: { selector: null } })).toContain(INSIDE);
        expect(await patchService({ spec: { ports: [{ port: PORTS.runner, targetPort: 22 }] } })).toContain(INSIDE);
        expect(await patchService({ metadata: { labels: { [LABELS.state]: ENDED } } })).toBe('admitted');
      });

      test('the name of an ended lease leads to that pod at its port, and to no other address', async () => {
        const own = addressOf(controller);
        const slice = tombstoneEndpoint({ metadata: { name, uid: RUNNER_ID } }, own);
        expect(await createSlice(slice)).toBe('admitted');
        for (const hostile of [
          tombstoneEndpoint({ metadata: { name, uid: RUNNER_ID } }, '10.0.0.7'),
          { ...slice, ports: [{ ...slice.ports?.[0], port: 22 }] },
          { ...slice, endpoints: [own, own].map(address => ({ addresses: [address] })) },
          { ...slice, endpoints: [{ addresses: [own, '10.0.0.7'] }] },
          { ...slice, metadata: { ...slice.metadata, labels: { 'kubernetes.io/service-name': name } } },
        ])
          expect(await createSlice(hostile), JSON.stringify(hostile)).toContain(TOMBSTONE);
        // A token of the account that no pod has says nothing about an address.
        expect(await createSlice(slice, await asController())).toContain(TOMBSTONE);
      });

      test('a runner stays the one that it is', async () => {
        const core = holder.makeApiClient(CoreV1Api);
        const label = (labels: object) =>
          answerOf(core.patchNamespacedPod({ ...dryRun, name, body: { metadata: { labels } } }, MERGE_PATCH));
        for (const labels of [{ [LABELS.runnerId]: RUNNER_ID }, { [LABELS.runnerId]: null }, { [LABELS.app]: 'other' }])
          expect(await label(labels)).toContain("ValidatingAdmissionPolicy 'runner-pod-label'");
        expect(await label({ [LABELS.state]: 'leased' })).toBe('admitted');
      });
    });

    test("the account that owns leased runners is deleted only where they stay: not Argo CD's way, not kubectl's", async () => {
      const remove = ['delete', ...inRunners, 'serviceaccount', SERVICE_ACCOUNTS.runner, '--dry-run=server'];
      for (const cascade of ['background', 'foreground'])
        expect((await tryKubectl([...remove, `--cascade=${cascade}`])).stderr).toContain(
          "ValidatingAdmissionPolicy 'runner-account-stays'",
        );
      expect(await tryKubectl([...remove, '--cascade=orphan'])).toMatchObject({ ok: true });
    });
  });

  test('has no Service that leads in from outside', async () => {
    const service = runnerService({ ...pod, metadata: { ...pod.metadata, uid: RUNNER_ID } }, RUNNER_ID);
    for (const type of ['NodePort', 'LoadBalancer', 'ExternalName'])
      expect(
        (
          await createPod({
            ...service,
            spec: { ...service.spec, type, ...(type === 'ExternalName' ? { externalName: 'a.test' } : {}) },
          })
        ).stderr,
      ).toContain("ValidatingAdmissionPolicy 'runner-service-inside'");
    expect((await createPod(service, '')).stderr).toContain("ValidatingAdmissionPolicy 'runner-service-inside'");
  });

  test('refuses every Secret', async () => {
    const { ok, stderr } = await tryKubectl([
      'create',
      ...inRunners,
      'secret',
      'generic',
      'loot',
      '--from-literal=a=b',
    ]);
    expect(stderr).toContain('exceeded quota: runners');
    expect(ok).toBe(false);
  });
});

test('[O10] the controller may do what is listed, each with its reason, and nothing else anywhere', async () => {
  const verbs = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection'];
  const resources = [
    ...['pods', 'pods/log', 'pods/exec', 'pods/ephemeralcontainers', 'services', 'podtemplates', 'serviceaccounts'],
    ...['secrets', 'configmaps', 'endpoints', 'endpointslices', 'events', 'nodes', 'namespaces'],
  ];
  const reviews = [NAMESPACES.runners, NAMESPACES.system, NAMESPACES.api, 'kube-system'].flatMap(where =>
    resources.flatMap(resource =>
      verbs.map(verb => {
        const [main, subresource] = resource.split('/');
        const name = where === NAMESPACES.runners && resource === 'serviceaccounts' ? SERVICE_ACCOUNTS.runner : '';
        const group = main === 'endpointslices' ? 'discovery.k8s.io' : '';
        return { namespace: where, verb, resource: main, ...(subresource ? { subresource } : {}), name, group };
      }),
    ),
  );
  const asked = reviews.map(resourceAttributes => ({
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SubjectAccessReview',
    spec: { user: CONTROLLER, resourceAttributes },
  }));
  const output = await kubectl(['create', '-f', '-', '-o', 'jsonpath={.status.allowed}{"\\n"}'], stream(asked));
  const answers = output.trim().split('\n');
  expect(answers).toHaveLength(reviews.length);
  const allowed = reviews
    .filter((_, index) => answers[index] === 'true')
    .map(
      ({ namespace: where, verb, resource, subresource }) =>
        `${where} ${resource}${subresource ? `/${subresource}` : ''} ${verb}`,
    );
  const listed = CONTROLLER_RIGHTS.flatMap(({ resource, verbs: granted }) =>
    Object.keys(granted).map(verb => `${NAMESPACES.runners} ${resource} ${verb}`),
  );
  expect(allowed.sort()).toEqual(listed.sort());
});
