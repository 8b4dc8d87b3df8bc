import { execFile } from 'node:child_process';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import * as z from 'zod';
import { manifestsPath } from '../contract/manifests-path.ts';
import { ARGOCD, rootApplication } from '../infra/root-application.ts';
import type { Environment } from '../manifests/environment-type.ts';
import { render } from '../manifests/render.ts';
import { apply, kubectl, localTool, tryKubectl } from './kubectl.ts';

/** A git repository on this machine's disk, from which Argo CD reads as it would from the product's. */
const REPOSITORY = resolve('.omicron/cluster/gitops');
const GITOPS = { repository: pathToFileURL(REPOSITORY).href, revision: 'main' };
/** The Application of the product's objects, as `manifests/parts/applications.ts` names it. */
const CORE = 'omicron-browser';
const SYNC_MS = 180_000;
/** https://argo-cd.readthedocs.io/en/stable/user-guide/annotations-and-labels/ */
const REFRESH = 'argocd.argoproj.io/refresh';

const git = (...args: string[]) =>
  promisify(execFile)('git', [
    '-C',
    REPOSITORY,
    '-c',
    'user.name=cluster',
    '-c',
    'user.email=cluster@localhost',
    ...args,
  ]);

/** Whether Argo CD is installed and, on the local cluster, where it is no pod, runs. */
export async function hasArgo(): Promise<boolean> {
  const tool = localTool();
  if (tool && !(await promisify(execFile)(tool, ['status'])).stdout.includes('argocd-controller: runs')) return false;
  return (await tryKubectl(['-n', ARGOCD, 'get', 'configmap', 'argocd-cm', '-o', 'name'])).ok;
}

/**
 * Renders the environment into the repository, with `more` files beside its objects, and commits it; answers the
 * revision.
 */
export async function push(env: Environment, more: Readonly<Record<string, string>> = {}): Promise<string> {
  await mkdir(REPOSITORY, { recursive: true });
  await git('init', '--quiet', '--initial-branch', GITOPS.revision);
  const root = join(REPOSITORY, manifestsPath(env.name, GITOPS.repository));
  await rm(root, { recursive: true, force: true });
  for (const [path, text] of [...render({ ...env, gitops: GITOPS }), ...Object.entries(more)]) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  }
  await git('add', '--all');
  await git('commit', '--quiet', '--allow-empty', '--message', 'rendered');
  return (await git('rev-parse', 'HEAD')).stdout.trim();
}

/** Points Argo CD at a source of manifests, as `pulumi up` does: the repository, where no other is named. */
export const follow = (env: Environment, gitops: Environment['gitops'] = GITOPS): Promise<string> =>
  apply([rootApplication(env.name, gitops)]);

const application = z.object({
  status: z
    .object({
      sync: z.object({ status: z.string(), revision: z.string().optional() }).optional(),
      health: z.object({ status: z.string() }).optional(),
      conditions: z.array(z.object({ message: z.string() })).optional(),
      operationState: z.object({ message: z.string().optional() }).optional(),
    })
    .optional(),
});

/** Argo CD's status of the product: sync, health, and the revision it compared with. */
export async function argoStatus() {
  const text = await kubectl(['-n', ARGOCD, 'get', 'application', CORE, '-o', 'json', '--ignore-not-found']);
  const { status } = text.trim() === '' ? {} : application.parse(JSON.parse(text));
  const words = [status?.operationState?.message, ...(status?.conditions ?? []).map(({ message }) => message)];
  return {
    sync: status?.sync?.status,
    health: status?.health?.status,
    revision: status?.sync?.revision,
    words: words.filter(Boolean).join('; '),
  };
}

/** Asks Argo CD to compare now, as a webhook of a repository does; else it looks by itself, in time. */
async function refresh(): Promise<void> {
  const object = ['-n', ARGOCD, 'annotate', 'application', CORE, '--overwrite'];
  await tryKubectl([...object, `${REFRESH}=normal`]); // it may not be there yet
}

/** Argo CD's status once it has compared the cluster with the repository again. */
export async function compareRevisions() {
  await refresh();
  const annotation = ['-n', ARGOCD, 'get', 'application', CORE, '-o', 'jsonpath={.metadata.annotations}'];
  const deadline = performance.now() + SYNC_MS;
  // It takes the annotation away when it has.
  while ((await kubectl(annotation)).includes(REFRESH)) {
    if (performance.now() > deadline)
      throw new Error(`Argo CD has not compared: ${JSON.stringify(await argoStatus())}`);
    await delay(200);
  }
  return argoStatus();
}

/** Waits until Argo CD has synced a revision and what runs of it is healthy. */
export async function waitUntilSynced(revision: string): Promise<void> {
  await refresh();
  const deadline = performance.now() + SYNC_MS;
  for (;;) {
    const now = await argoStatus();
    if (now.sync === 'Synced' && now.health === 'Healthy' && now.revision === revision) return;
    if (performance.now() > deadline) throw new Error(`Argo CD has not synced ${revision}: ${JSON.stringify(now)}`);
    await delay(500);
  }
}

/** Removes Argo CD's Applications and keeps what they synced. */
export async function removeApplications(): Promise<void> {
  for (const name of ['root', CORE]) {
    const free = ['-n', ARGOCD, 'patch', 'application', name, '--type=merge', '-p', '{"metadata":{"finalizers":null}}'];
    await tryKubectl(free); // it may not be there
    await kubectl(['-n', ARGOCD, 'delete', 'application', name, '--ignore-not-found']);
  }
}
