import { randomUUID } from 'node:crypto';
import {
  CoreV1Api,
  DiscoveryV1Api,
  type KubeConfig,
  type V1Endpoint,
  type V1EndpointSlice,
  type V1Pod,
} from '@kubernetes/client-node';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { kubectl, stream, tryKubectl } from '../../cluster/kubectl.ts';
import {
  LABELS,
  NAMESPACES,
  PORTS,
  RUNNER_TEMPLATE,
  RUNNERS_SERVICE,
  runnerName,
  SERVICE_ACCOUNTS,
} from '../../contract/names.ts';
import { MERGE_PATCH } from '../../controller/runners/kubernetes/api.ts';
import { nameSlice } from '../../controller/runners/kubernetes/name-slices.ts';
import { tombstone } from '../../controller/runners/kubernetes/names.ts';
import { runnerPod } from '../../controller/runners/kubernetes/objects.ts';
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
  pod = runnerPod(template, RUNNER_ID, runnerName(RUNNER_ID), `${RUNNERS_SERVICE}-x-0`);
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
  test('admits the pod that the controller makes from the template', async () => {
    expect(await createPod(pod)).toMatchObject({ ok: true });
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
      let victim: V1EndpointSlice;
      let entry: V1Endpoint;
      const api = (config = holder) => config.makeApiClient(DiscoveryV1Api);
      beforeAll(async () => {
        const selector = `${LABELS.app}=${LABELS.controllerApp}`;
        const pods = await podsOf(NAMESPACES.system, selector);
        controller = pods.find(({ status }) => status?.phase === 'Running') ?? {};
        holder = await asController(controller.metadata?.name);
        const found = await eventually('a runner has its name', async () => {
          const { items } = await api().listNamespacedEndpointSlice({ namespace: NAMESPACES.runners });
          return items.find(({ endpoints }) => endpoints?.some(({ targetRef }) => targetRef !== undefined));
        });
        victim = found;
        entry = found.endpoints?.find(({ targetRef }) => targetRef !== undefined) as V1Endpoint; // it was found by this
      });
      const dryRun = { namespace: NAMESPACES.runners, dryRun: 'All' };
      const create = (body: V1EndpointSlice, config = holder) =>
        answerOf(api(config).createNamespacedEndpointSlice({ ...dryRun, body }));
      const replace = (endpoints: V1Endpoint[], config = holder) => {
        const [name, body] = [victim.metadata?.name ?? '', { ...victim, endpoints }];
        delete body.metadata?.resourceVersion; // other names may come and go meanwhile
        return answerOf(api(config).replaceNamespacedEndpointSlice({ ...dryRun, name, body }));
      };
      const NAMES = "ValidatingAdmissionPolicy 'runner-names'";
      const STAYS = "ValidatingAdmissionPolicy 'runner-name-stays'";
      const others = () => (victim.endpoints ?? []).filter(each => each !== entry);

      test('a name is written for the one Service, with the name of a runner, one address and its port', async () => {
        const own = nameSlice('runners-x-0', [{ hostname: runnerName(randomUUID()), addresses: ['10.0.0.7'] }]);
        const labels = own.metadata?.labels ?? {};
        const [one] = own.endpoints ?? [];
        expect(await create(own)).toBe('admitted');
        for (const hostile of [
          { ...own, metadata: { ...own.metadata, labels: { ...labels, 'kubernetes.io/service-name': 'other' } } },
          { ...own, metadata: { ...own.metadata, labels: {} } },
          { ...own, ports: [{ name: 'mcp', port: 22 }] },
          { ...own, ports: [...(own.ports ?? []), { name: 'more', port: 22 }] },
          { ...own, ports: [] },
          { ...own, addressType: 'FQDN' as const, endpoints: [{ ...one, addresses: ['a.test'] }] },
          { ...own, endpoints: [{ ...one, hostname: 'www', addresses: ['10.0.0.7'] }] },
          { ...own, endpoints: [{ addresses: ['10.0.0.7'] }] },
          { ...own, endpoints: [{ ...one, addresses: ['10.0.0.7', '10.0.0.8'] }] },
        ])
          expect(await create(hostile), JSON.stringify(hostile)).toContain(NAMES);
        // The API server itself refuses addresses of the node.
        for (const address of ['127.0.0.1', '169.254.169.254'])
          expect(await create({ ...own, endpoints: [{ ...one, addresses: [address] }] })).toMatch(/Invalid value/);
      });

      test('a name is written with the token of a pod of the controller, and with no other', async () => {
        const own = nameSlice('runners-x-0', [{ hostname: runnerName(randomUUID()), addresses: ['10.0.0.7'] }]);
        expect(await create(own, await asController())).toContain(NAMES);
        expect((await createPod(own, '')).stderr).toContain(NAMES);
        expect(await replace(victim.endpoints ?? [], await asController())).toContain(NAMES);
      });

      test('the name of a runner moves to that pod when its lease ends, and to no other address', async () => {
        const name = entry.hostname ?? '';
        const kept = tombstone(name, addressOf(controller));
        expect(await replace([...others(), kept])).toBe('admitted');
        expect(await replace([...others(), { ...entry, conditions: { ready: false } }])).toBe('admitted');
        expect(await replace(others())).toBe('admitted');
        const elsewhere = [tombstone(name, '10.0.0.7'), { ...entry, addresses: ['10.0.0.7'] }];
        for (const moved of [...elsewhere, ...elsewhere.map(each => ({ ...each, conditions: {} }))])
          expect(await replace([...others(), moved]), JSON.stringify(moved)).toContain(STAYS);
        // beside the one that it has
        expect(await replace([...others(), entry, tombstone(name, '10.0.0.7')])).not.toBe('admitted');
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

  test('has the one headless Service, and none that leads in from outside or to a pod of its choice', async () => {
    const shipped = local.find(({ kind, metadata }) => kind === 'Service' && metadata.name === RUNNERS_SERVICE);
    const { spec, ...service } = { ...shipped, metadata: { ...shipped?.metadata, labels: {} } } as KubernetesObject & {
      spec: object;
    };
    const apply = (body: object) =>
      tryKubectl(['apply', '--server-side', '--force-conflicts', '--dry-run=server', '-f', '-'], JSON.stringify(body));
    expect(await apply({ ...service, spec })).toMatchObject({ ok: true });
    const INSIDE = "ValidatingAdmissionPolicy 'runner-service-inside'";
    const headless = { ...spec, clusterIP: 'None' };
    for (const hostile of [
      { type: 'NodePort', ports: [{ port: PORTS.runner }] },
      { type: 'LoadBalancer', ports: [{ port: PORTS.runner }] },
      { type: 'ExternalName', externalName: 'a.test' },
      { ports: [{ port: PORTS.runner }], selector: { [LABELS.app]: LABELS.runnerApp } },
      { ...headless, externalIPs: ['192.0.2.1'] },
      headless,
    ]) {
      const other = { ...service, metadata: { name: 'other', namespace: NAMESPACES.runners }, spec: hostile };
      for (const as of [CONTROLLER, '']) expect((await createPod(other, as)).ok, JSON.stringify(hostile)).toBe(false);
      expect((await createPod(other, '')).stderr, JSON.stringify(hostile)).toContain(INSIDE);
    }
    // One without a selector has both families of addresses, by default; with one that is refused on a cluster of a single family.
    const selector = { [LABELS.runnerId]: RUNNER_ID };
    const selecting = { ...headless, selector, ipFamilyPolicy: 'SingleStack', ipFamilies: ['IPv4'] };
    expect((await apply({ ...service, spec: selecting })).stderr).toContain(INSIDE);
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
