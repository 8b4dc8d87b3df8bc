import { execFile } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { keyPublisher } from '../../cli/verify/publisher.ts';
import { registrySource } from '../../cli/verify/registry.ts';
import { verifyRelease } from '../../cli/verify/verify.ts';
import { deployedEnvironment } from '../../cluster/deploy.ts';
import { follow, removeApplications, waitUntilSynced } from '../../cluster/gitops.ts';
import { apply, kubectl, localTool } from '../../cluster/kubectl.ts';
import { NAMESPACES } from '../../contract/names.ts';
import { ARGOCD } from '../../infra/root-application.ts';
import type { Environment } from '../../manifests/environment-type.ts';
import { bundleRelease } from '../../release/oci/bundle.ts';
import { openLayout } from '../../release/oci/layout.ts';
import { startRegistry } from '../../release/oci/local-registry.ts';
import { pushRelease } from '../../release/oci/push.ts';
import { signRelease } from '../../release/oci/sign.ts';
import { keySigner } from '../../release/oci/signing-key.ts';
import { newFolder } from '../local/machine.ts';
import { onNode } from './node-faults.ts';

// The registry listens on loopback, where Argo CD of the cluster beside the checkout is a process too.

const MINUTE_MS = 60_000;
/** Argo CD reads https alone, unless a Secret says otherwise: https://argo-cd.readthedocs.io/en/stable/user-guide/oci/ */
const CREDENTIALS = 'registry-of-the-test';
const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });

let env: Environment;
let registry: Awaited<ReturnType<typeof startRegistry>>;
let base = '';
let repository = '';

/** Makes, signs and pushes a release of the environment; answers where Argo CD finds it, and the digest of its manifests. */
async function release(version: string, changes: Partial<Environment> = {}) {
  const gitops = { repository, revision: version };
  const layout = await openLayout(await newFolder());
  const environments = [{ ...env, ...changes, gitops }];
  await bundleRelease(layout, { version, packages: new Map(), environments });
  const sboms = { packages: { bomFormat: 'CycloneDX', specVersion: '1.5', components: [] } };
  const builder = 'https://example.com';
  await signRelease(layout, { version, signer: keySigner(keys.privateKey), commit: 'c'.repeat(40), builder, sboms });
  await pushRelease(layout, base);
  const parts = ['manifests'] as const;
  const [verdict] = await verifyRelease(registrySource(base), {
    version,
    publisher: keyPublisher(keys.publicKey),
    parts,
  });
  expect(verdict?.faults).toEqual([]);
  return { gitops, digest: verdict?.digest ?? '' };
}

const podSecurity = () =>
  kubectl([
    ...['get', 'namespace', NAMESPACES.runners, '-o'],
    'jsonpath={.metadata.labels.pod-security\\.kubernetes\\.io/enforce-version}',
  ]);

describe.skipIf(!onNode)('Argo CD, on the artifact of a release', { timeout: 3 * MINUTE_MS }, () => {
  beforeAll(async () => {
    const tool = localTool();
    if (tool) await promisify(execFile)(tool, ['argocd']);
    env = await deployedEnvironment();
    registry = await startRegistry(true);
    base = `${registry.host}/omicron-browser`;
    repository = `oci://${base}/manifests`;
    const labels = { 'argocd.argoproj.io/secret-type': 'repository' };
    const metadata = { name: CREDENTIALS, namespace: ARGOCD, labels };
    const stringData = { type: 'oci', url: repository, insecureOCIForceHttp: 'true' };
    await apply([{ apiVersion: 'v1', kind: 'Secret', metadata, stringData }]);
  });
  afterAll(async () => {
    await removeApplications();
    await kubectl(['-n', ARGOCD, 'delete', 'secret', CREDENTIALS, '--ignore-not-found']);
    await registry?.[Symbol.asyncDispose]();
  });

  it('syncs the signed artifact from a registry, by its digest: Synced and Healthy', async () => {
    const { gitops, digest } = await release('1.0.0');
    await follow(env, gitops);
    await waitUntilSynced(digest);
  });

  it('brings the next version and goes back to the one before', async () => {
    const newer = await release('1.0.1', { podSecurityVersion: 'v1.34' });
    await follow(env, newer.gitops);
    await waitUntilSynced(newer.digest);
    expect(await podSecurity()).toBe('v1.34');

    const older = await release('1.0.0');
    await follow(env, older.gitops);
    await waitUntilSynced(older.digest);
    expect(await podSecurity()).toBe(env.podSecurityVersion);
  });
});
