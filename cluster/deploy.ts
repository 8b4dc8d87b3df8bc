import { execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { ENV, LABELS, NAMESPACES, RUNNER_TEMPLATE, SECCOMP_PROFILE, SERVICES } from '../contract/names.ts';
import type { Environment } from '../manifests/environment-type.ts';
import { ENVIRONMENTS } from '../manifests/environments.ts';
import { FOLDERS, type KubernetesObject, renderObjects } from '../manifests/render.ts';
import { SECRETS } from '../manifests/secrets.ts';
import { DATABASE_HOST, FIXTURES, fixtures, HOSTS, INGRESS, POSTGRES_SECRET } from './fixtures/objects.ts';
import { follow, hasArgo, push, waitUntilSynced } from './gitops.ts';
import { type ClusterImages, clusterImages } from './images.ts';
import { apply, clusterEnvironment, kubectl, localTool, tryKubectl } from './kubectl.ts';
import { namesOfRunners } from './names.ts';

/** The environment `local`, made of these images. */
const localEnvironment = (images: Omit<ClusterImages, 'fixtures'>): Environment => ({
  ...ENVIRONMENTS.local,
  images: { ...ENVIRONMENTS.local.images, ...images },
});

const wave = ({ metadata }: KubernetesObject) => Number(metadata.annotations?.['argocd.argoproj.io/sync-wave']);

/** The objects that Argo CD would sync, in its order: without Argo CD's own objects, and without monitoring. */
const coreObjects = (env: Environment): KubernetesObject[] =>
  [...renderObjects(env)]
    .filter(([path]) => path.startsWith(`${FOLDERS.core}/`))
    .map(([, object]) => object)
    .toSorted((a, b) => wave(a) - wave(b));

/** The environment `local`, made of the images that run on the cluster. */
export async function deployedEnvironment(): Promise<Environment> {
  const image = async (namespace: string, kind: string, name: string, path: string) =>
    (await kubectl(['-n', namespace, 'get', kind, name, '-o', `jsonpath={${path}.spec.containers[0].image}`])).trim();
  const [controller, egress, console, runner] = await Promise.all([
    image(NAMESPACES.system, 'deployment', SERVICES.controller, '.spec.template'),
    image(NAMESPACES.system, 'deployment', SERVICES.egress, '.spec.template'),
    image(NAMESPACES.system, 'deployment', SERVICES.console, '.spec.template'),
    image(NAMESPACES.runners, 'podtemplate', RUNNER_TEMPLATE, '.template'),
  ]);
  return localEnvironment({ controller, egress, console, runner });
}

/** Namespaces, fixtures and Secrets: what must exist before the environment is synced. */
async function deployBase(env: Environment, image: string): Promise<void> {
  const namespace = {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: FIXTURES, labels: { 'omicron.dev/fixtures': 'true' } },
  };
  const core = coreObjects(env);
  await apply([namespace, ...core.filter(({ kind }) => kind === 'Namespace')]);
  const password = await postgresPassword();
  // A running Postgres is left alone: its data lives in its pod, and controllers create their tables when they start.
  const there = await kubectl(['-n', FIXTURES, 'get', 'deployment', 'postgres', '--ignore-not-found', '-o', 'name']);
  await apply(fixtures(image, env).filter(({ metadata }) => there === '' || metadata?.name !== 'postgres'));
  await addHostNames();
  await makeSecrets(`postgres://omicron:${password}@${DATABASE_HOST}:5432/omicron`);
  await addConsoleSecret();
  for (const name of ['postgres', 's3', 'sites']) await rolledOut(FIXTURES, name);
}

/** Deploys everything to the cluster: images, fixtures, Secrets, the environment. Answers how. Idempotent. */
export async function deploy({
  registry,
  environment,
  log,
}: {
  registry?: string | undefined;
  /** For docker or buildah. */
  environment: NodeJS.ProcessEnv;
  log: (line: string) => void;
}): Promise<string> {
  const { fixtures: fixturesImage, ...images } = await clusterImages(registry, environment, log);
  const tool = localTool();
  if (tool) await promisify(execFile)(tool, ['seccomp', `infra/${SECCOMP_PROFILE}`]);
  const env = localEnvironment(images);
  await deployBase(env, fixturesImage);
  const argo = await hasArgo();
  if (argo) {
    const revision = await push(env);
    await follow(env);
    await waitUntilSynced(revision);
  } else await applyEnvironment(env);
  await waitUntilRunning();
  return argo ? 'by Argo CD' : 'by server-side apply';
}

/** Applies the objects of an environment as they are rendered; Argo CD, where it follows a repository, has to be paused. */
export const applyEnvironment = (env: Environment): Promise<string> => apply(coreObjects(env));

/** Resolves when no pod of the runner is left, and its name leads to none. */
export async function nothingLeft(runnerId: string): Promise<void> {
  const own = ['-n', NAMESPACES.runners, 'get', 'pods', '-l', `${LABELS.runnerId}=${runnerId}`, '-o', 'name'];
  const names = async () =>
    (await namesOfRunners(NAMESPACES.runners))
      .filter(({ hostname, targetRef }) => targetRef !== undefined && hostname?.endsWith(runnerId))
      .map(({ hostname }) => `name ${hostname}`);
  const deadline = performance.now() + 60_000;
  for (;;) {
    const left = [(await kubectl(own)).trim(), ...(await names())].filter(Boolean).join(', ');
    if (left === '') return;
    if (performance.now() > deadline) throw new Error(`left after the lease: ${left}`);
    await delay(500);
  }
}

/** Waits until the controller, the egress proxy, the console and the ingress run as they were last applied. */
export async function waitUntilRunning(): Promise<void> {
  for (const name of Object.values(SERVICES)) await rolledOut(NAMESPACES.system, name);
  await rolledOut(NAMESPACES.api, INGRESS);
}

async function rolledOut(namespace: string, name: string): Promise<void> {
  const { ok, stderr } = await tryKubectl([
    '-n',
    namespace,
    'rollout',
    'status',
    `deployment/${name}`,
    '--timeout=110s',
  ]);
  if (ok) return;
  const pods = await kubectl(['-n', namespace, 'get', 'pods', '-o', 'wide']);
  // The scheduler's events have no lastTimestamp.
  const events = await kubectl(['-n', namespace, 'get', 'events', '--sort-by=.metadata.creationTimestamp']);
  const logs = await tryKubectl(['-n', namespace, 'logs', `deployment/${name}`, '--tail=20']);
  throw new Error(
    [
      `${namespace}/${name} did not become available: ${stderr}`,
      pods,
      events.split('\n').slice(-8).join('\n'),
      logs.stdout,
    ].join('\n'),
  );
}

/** The existing password, or a new one. */
async function postgresPassword(): Promise<string> {
  const there = [
    '-n',
    FIXTURES,
    'get',
    'secret',
    POSTGRES_SECRET,
    '--ignore-not-found',
    '-o',
    'jsonpath={.data.password}',
  ];
  const known = Buffer.from(await kubectl(there), 'base64').toString();
  if (known !== '') return known;
  const password = randomBytes(24).toString('hex');
  await apply([
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: POSTGRES_SECRET, namespace: FIXTURES },
      stringData: { password },
    },
  ]);
  return password;
}

/** Adds the fixtures' names to the cluster's DNS. */
async function addHostNames(): Promise<void> {
  if (localTool() === undefined)
    throw new Error(
      `Add these lines to the cluster's DNS (CoreDNS's hosts plugin), then run this command again:\n${HOSTS}`,
    );
  const config = ['-n', 'kube-system', 'get', 'configmap', 'coredns', '-o', 'jsonpath={.data.hosts}'];
  const before = await kubectl(config);
  if (before.includes(HOSTS)) return;
  const others = before.split('\n').filter(line => !line.includes('omicron-fixtures.test'));
  const hosts = [...others.filter(line => line !== ''), HOSTS].join('\n');
  await kubectl([
    '-n',
    'kube-system',
    'patch',
    'configmap',
    'coredns',
    '--type=merge',
    '-p',
    JSON.stringify({ data: { hosts } }),
  ]);
  await kubectl(['-n', 'kube-system', 'rollout', 'restart', 'deployment/coredns']);
  await rolledOut('kube-system', 'coredns');
}

/** The secret of the tokens with which the tests sign in to the console, as a platform's users do. */
async function addConsoleSecret(): Promise<void> {
  const { namespace, name } = SECRETS.console;
  const there = ['-n', namespace, 'get', 'secret', name, '-o', `jsonpath={.data.${ENV.consolePlatformSecret}}`];
  if ((await kubectl(there)) !== '') return;
  const stringData = { [ENV.consolePlatformSecret]: randomBytes(32).toString('hex') };
  // The script's own keys stay: what is applied on the server's side is merged.
  await kubectl(
    ['apply', '--server-side', '--field-manager=omicron-fixtures', '-f', '-'],
    JSON.stringify({ apiVersion: 'v1', kind: 'Secret', metadata: { namespace, name }, stringData }),
  );
}

/** Runs the operator's script; the URL is passed on its standard input. */
function makeSecrets(databaseUrl: string): Promise<void> {
  const script = fileURLToPath(new URL('../manifests/make-secrets.ts', import.meta.url));
  const child = spawn(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', script, '--database-url-file', '-', '--profile-key'],
    {
      env: clusterEnvironment(),
      stdio: ['pipe', 'ignore', 'inherit'],
    },
  );
  child.stdin?.end(databaseUrl);
  return new Promise((resolve, reject) =>
    child.on('close', code => (code === 0 ? resolve() : reject(new Error(`make-secrets.ts exited with ${code}`)))),
  );
}
