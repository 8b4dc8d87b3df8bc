import { randomUUID } from 'node:crypto';
import { Writable } from 'node:stream';
import type { KubeConfig } from '@kubernetes/client-node';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { kubectl } from '../../cluster/kubectl.ts';
import { ENDED, LABELS, runnerName, SERVICE_ACCOUNTS } from '../../contract/names.ts';
import { kubernetesRunners } from '../../controller/runners/kubernetes/provider.ts';
import { CONTROLLER_RIGHTS, type Right } from '../../manifests/parts/controller-rights.ts';
import { eventually } from '../eventually.ts';
import { providerContext } from '../fakes/provider-context.ts';
import { asAccount, copyRunnersNamespace, type NamespaceCopy } from './runners-namespace-copy.ts';

// The provider with all rights of the controller except one. Each of them has its reason in CONTROLLER_RIGHTS;
// here is the proof that it is needed. Pods wait for a node that does not exist: nothing runs.

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
  whole?.runners.stop();
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
    ...providerContext({ log: pino({}, sink) }),
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
  await whole.runners.create(id);
  return id;
}

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
  'create pods': config => started(config, ({ runners }) => thrown(runners.create(randomUUID()))),
  'delete pods': config => started(config, async ({ runners }) => thrown(runners.remove(await made()))),
  'patch pods': marking,
  'patch services': ending,
  'create endpointslices': ending,
  'list services': sweeping,
  'delete services': sweeping,
  'create services': config => started(config, ({ runners }) => thrown(runners.create(randomUUID()))),
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
    under.runners.stop();
  }
}

/** Without a list or a watch the provider knows nothing; it reports that, and retries. */
async function watching(config: KubeConfig): Promise<string> {
  const { runners, logged } = runnersOf(config);
  const starting = runners.start();
  try {
    return await eventually('it says why', () => /forbidden/i.test(logged()) && logged());
  } finally {
    runners.stop();
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

/** Nor does its end wait for its tombstone. */
async function ending(config: KubeConfig): Promise<string> {
  return started(config, async ({ runners, logged }) => {
    const id = await made();
    whole.runners.markLeased(id, { sessionId: randomUUID(), epoch: 1, userIdHash: 'hash' });
    const label = ['-n', copy.namespace, 'get', 'pod', runnerName(id), '-o', 'jsonpath={.metadata.labels}'];
    await eventually('it is a lease', async () => (await kubectl(label)).includes('leased'));
    await runners.remove(id);
    return eventually('it says why', () => /forbidden/i.test(logged()) && logged());
  });
}

/** Tombstones whose time is over are removed from the start on. */
async function sweeping(config: KubeConfig): Promise<string> {
  const name = `over-${randomUUID()}`;
  const labels = { [LABELS.state]: ENDED };
  const metadata = {
    name,
    namespace: copy.namespace,
    labels,
    annotations: { [LABELS.endedAt]: '2020-01-01T00:00:00Z' },
  };
  const service = { apiVersion: 'v1', kind: 'Service', metadata, spec: { ports: [{ port: 80 }] } };
  await kubectl(['create', '-f', '-'], JSON.stringify(service));
  return started(config, ({ logged }) => eventually('it says why', () => /forbidden/i.test(logged()) && logged()));
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
