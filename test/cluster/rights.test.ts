import { randomUUID } from 'node:crypto';
import { Writable } from 'node:stream';
import type { KubeConfig } from '@kubernetes/client-node';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { kubectl } from '../../cluster/kubectl.ts';
import { LABELS, runnerName, SERVICE_ACCOUNTS } from '../../contract/names.ts';
import { kubernetesRunners } from '../../controller/runners/kubernetes/provider.ts';
import { CONTROLLER_RIGHTS, type Right } from '../../manifests/parts/controller-rights.ts';
import { neverAborts } from '../../time/clock.ts';
import { eventually } from '../eventually.ts';
import { providerContext } from '../fakes/provider-context.ts';
import { asAccount, copyRunnersNamespace, type NamespaceCopy } from './runners-namespace-copy.ts';

// The provider with all rights of the controller except one. Each of them has its reason in CONTROLLER_RIGHTS;
// here is the proof that it is needed. Pods wait for a node that does not exist: nothing runs, though some have an address.

type Runners = ReturnType<typeof kubernetesRunners>;

let copy: NamespaceCopy;
/** An account that has every right. */
let whole: { runners: Runners };
beforeAll(async () => {
  copy = await copyRunnersNamespace('omicron-browser-copy-rights', { admissionPolicies: false });
  await copy.template('never-runs', ({ template }) => {
    if (template?.spec) template.spec.nodeSelector = { nowhere: 'true' };
  });
  whole = runnersOf(await accountWithout());
  await whole.runners.start();
});
afterAll(async () => {
  await whole?.runners.stop();
  await copy?.[Symbol.asyncDispose]();
});

/** A service account with the controller's rights, except one verb on one resource. */
async function accountWithout(resource = 'nothing', verb = 'is-missing'): Promise<KubeConfig> {
  const name = `without-${verb}-${resource}`;
  const rules = CONTROLLER_RIGHTS.map(({ only, group = '', ...right }: Right) => ({
    apiGroups: [group],
    resources: [right.resource],
    verbs: Object.keys(right.verbs).filter(each => right.resource !== resource || each !== verb),
    ...(only ? { resourceNames: [only] } : {}),
  })).filter(({ verbs }) => verbs.length > 0);
  const metadata = { name, namespace: copy.namespace };
  const rbac = { apiVersion: 'rbac.authorization.k8s.io/v1', metadata };
  const objects = [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata },
    { ...rbac, kind: 'Role', rules },
    {
      ...rbac,
      kind: 'RoleBinding',
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name },
      subjects: [{ kind: 'ServiceAccount', name, namespace: copy.namespace }],
    },
  ];
  await kubectl(['create', '-f', '-'], objects.map(each => JSON.stringify(each)).join('\n'));
  return asAccount(copy.namespace, name);
}

function runnersOf(config: KubeConfig): { runners: Runners; logged: () => string } {
  const lines: string[] = [];
  const sink = new Writable({
    write(chunk, _encoding, done) {
      lines.push(String(chunk));
      done();
    },
  });
  const runners = kubernetesRunners({
    // what whenWarm reads of a runner
    ...providerContext({
      log: pino({}, sink),
      healthOf: async () => ({ phase: 'warm', boot_id: randomUUID() }) as never,
    }),
    config,
    namespace: copy.namespace,
    templateName: 'never-runs',
    podAddress: '10.0.0.7',
  });
  return { runners, logged: () => lines.join('') };
}

/** A runner created by an administrator. */
async function made(): Promise<string> {
  const id = randomUUID();
  await whole.runners.create(id, neverAborts());
  return id;
}

/** A runner created by an administrator whose pod has an address, and whose name belongs into this slice. */
async function addressed(slice: string = `runners-${randomUUID()}`): Promise<string> {
  const id = await made();
  const pod = ['-n', copy.namespace, 'patch', 'pod', runnerName(id), '--type=merge', '-p'];
  await kubectl([...pod, JSON.stringify({ metadata: { labels: { [LABELS.nameSlice]: slice } } })]);
  const conditions = [{ type: 'Ready', status: 'True' }];
  const status = { podIP: '10.0.0.9', podIPs: [{ ip: '10.0.0.9' }], conditions };
  await kubectl([...pod, JSON.stringify({ status }), '--subresource=status']);
  return id;
}
const warm = (runners: Runners, id: string) => runners.whenWarm(id, AbortSignal.timeout(20_000));
const naming = (slice: () => Promise<string>) => async (config: KubeConfig) => {
  const id = await addressed(await slice());
  return started(config, ({ runners }) => thrown(warm(runners, id)));
};

const thrown = async (call: Promise<unknown>): Promise<string> => {
  const error: unknown = await call.then(
    () => 'nothing was thrown',
    cause => cause,
  );
  return error instanceof Error ? `${error.message} ${JSON.stringify(error)}` : String(error);
};

/**
 * The step that needs the right, and how its lack is seen: an error, or a line of the log where the provider goes on trying.
 */
const NEEDED_BY: Readonly<Record<string, (config: KubeConfig) => Promise<string>>> = {
  'get pods': config => started(config, ({ runners }) => thrown(runners.deathOf(randomUUID()))),
  'list pods': watching,
  'watch pods': watching,
  'create pods': config => started(config, ({ runners }) => thrown(runners.create(randomUUID(), neverAborts()))),
  'delete pods': config => started(config, async ({ runners }) => thrown(runners.remove(await made()))),
  'patch pods': marking,
  'get endpointslices': naming(async () => `runners-${randomUUID()}`),
  'create endpointslices': naming(async () => `runners-${randomUUID()}`),
  'update endpointslices': naming(async () => {
    const slice = `runners-${randomUUID()}`;
    await warm(whole.runners, await addressed(slice));
    return slice;
  }),
  'list endpointslices': config =>
    started(config, ({ logged }) => eventually('it says why', () => /forbidden/i.test(logged()) && logged())),
  'delete endpointslices': unnaming,
  'list podtemplates': watching,
  'watch podtemplates': watching,
  'get serviceaccounts': marking,
};

async function started(
  config: KubeConfig,
  act: (under: ReturnType<typeof runnersOf>) => Promise<string>,
): Promise<string> {
  const under = runnersOf(config);
  await under.runners.start();
  try {
    return await act(under);
  } finally {
    await under.runners.stop();
  }
}

/** Without a list or a watch the provider knows nothing; it reports that, and retries. */
async function watching(config: KubeConfig): Promise<string> {
  const { runners, logged } = runnersOf(config);
  const starting = runners.start();
  try {
    return await eventually('it says why', () => /forbidden/i.test(logged()) && logged());
  } finally {
    await runners.stop();
    await starting;
  }
}

/** A lease does not wait for the mark on its pod. */
async function marking(config: KubeConfig): Promise<string> {
  return started(config, async ({ runners, logged }) => {
    const id = await made();
    runners.markLeased(id, { sessionId: randomUUID(), epoch: 1, userIdHash: 'hash' });
    return eventually('it says why', () => /forbidden/i.test(logged()) && logged());
  });
}

/** The last name of a slice goes with the next sweep. */
async function unnaming(config: KubeConfig): Promise<string> {
  const id = await addressed();
  await warm(whole.runners, id);
  return started(config, async ({ runners, logged }) => {
    await runners.remove(id);
    return eventually('it says why', () => /forbidden/i.test(logged()) && logged());
  });
}

/** A line of the log: the client library keeps the path of a refused watch, not the server's sentence. */
const watchFailed = (resource: string): RegExp =>
  new RegExp(`"path":"[^"]*/${resource}","err":{"type":"Error","message":"Forbidden".*"watch failed; relisting"`);

describe('every right of the controller is needed', () => {
  const rights = CONTROLLER_RIGHTS.flatMap(({ resource, verbs }) =>
    Object.entries(verbs).map(([verb, why]) => ({ verb, resource, why })),
  );

  test.each(rights)('$verb $resource: $why', async ({ verb, resource }) => {
    const needed = NEEDED_BY[`${verb} ${resource}`];
    if (!needed) throw new Error(`nothing here needs ${verb} ${resource}: take the right away, or say what does`);
    const said = await needed(await accountWithout(resource, verb));
    expect(said).toMatch(
      verb === 'watch' ? watchFailed(resource) : new RegExp(`cannot ${verb} resource \\\\*"${resource}`),
    );
  });

  test('and all of them together are enough', async () => {
    const { runners } = whole;
    const id = await made();
    expect(await runners.templateDigest()).toMatch(/^[0-9a-f]{16}$/);
    expect(await runners.deathOf(id)).toBeNull();
    runners.markLeased(id, { sessionId: randomUUID(), epoch: 1, userIdHash: 'hash' });
    const owner = ['-n', copy.namespace, 'get', 'pod', runnerName(id), '-o', 'jsonpath={.metadata.ownerReferences}'];
    await eventually('it is a lease', async () => (await kubectl(owner)).includes(SERVICE_ACCOUNTS.runner));
    await eventually('it is gone', async () => (await runners.remove(id)) === 'gone');
  });
});
