import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { kubectl, stream, tryKubectl } from '../../cluster/kubectl.ts';
import { ENDED, LABELS, NAMESPACES, RUNNER_TEMPLATE, runnerName, SERVICE_ACCOUNTS } from '../../contract/names.ts';
import { runnerPod, runnerService, tombstoneEndpoint } from '../../controller/runners/kubernetes/objects.ts';
import { ENVIRONMENTS } from '../../manifests/environments.ts';
import { CONTROLLER_RIGHTS } from '../../manifests/parts/controller-rights.ts';
import { type KubernetesObject, renderObjects } from '../../manifests/render.ts';
import { eventually } from '../eventually.ts';
import { pushed } from '../manifests/pushed.ts';
import { HOSTILE_PODS } from './hostile-pods.ts';
import { argoCrds, Lent } from './lent.ts';
import { podsOf } from './pods.ts';

const CONTROLLER = `system:serviceaccount:${NAMESPACES.system}:${SERVICE_ACCOUNTS.controller}`;
const RUNNER_ID = '6f9f4b3e-8f5d-4c07-9d1b-0d9f6f2b7a11';
const inRunners = ['-n', NAMESPACES.runners];
const local = [...renderObjects(ENVIRONMENTS.local).values()];
/** Addresses of the local Service range that nothing has. */
const FREE = { controller: '10.96.0.200', egress: '10.96.0.201' };
const cluster = new Lent();

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

    test('its name leads to itself, and once its lease has ended to the controller too: one address, one port', async () => {
      const patch = (change: object) =>
        tryKubectl([
          'patch',
          ...inRunners,
          'service',
          name,
          '--dry-run=server',
          '--type=merge',
          '-p',
          JSON.stringify(change),
        ]);
      expect((await patch({ spec: { selector: { [LABELS.runnerId]: RUNNER_ID } } })).stderr).toContain(
        "ValidatingAdmissionPolicy 'runner-service-inside'",
      );
      expect(await patch({ metadata: { labels: { [LABELS.state]: ENDED } } })).toMatchObject({ ok: true });
      const slice = tombstoneEndpoint({ metadata: { name, uid: RUNNER_ID } }, '10.0.0.7');
      expect(await createPod(slice)).toMatchObject({ ok: true });
      for (const hostile of [
        { ports: [{ ...slice.ports?.[0], port: 22 }] },
        { endpoints: [slice.endpoints?.[0], slice.endpoints?.[0]] },
        { metadata: { ...slice.metadata, labels: { 'kubernetes.io/service-name': name } } },
      ])
        expect((await createPod({ ...slice, ...hostile })).stderr).toContain(
          "ValidatingAdmissionPolicy 'runner-endpoint-of-tombstone'",
        );
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
