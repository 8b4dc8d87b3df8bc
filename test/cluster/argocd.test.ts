import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BrowserSessions } from '../../client/browser-sessions.ts';
import { deployedEnvironment } from '../../cluster/deploy.ts';
import { SITES } from '../../cluster/fixtures/objects.ts';
import { compareRevisions, follow, push, removeApplications, waitUntilSynced } from '../../cluster/gitops.ts';
import { type Ingress, openIngress } from '../../cluster/ingress.ts';
import { kubectl, localTool, tryKubectl } from '../../cluster/kubectl.ts';
import { LABELS, NAMESPACES } from '../../contract/names.ts';
import { connectMcpBrowser } from '../../local/mcp-browser.ts';
import type { Environment } from '../../manifests/environment-type.ts';
import { eventually } from '../eventually.ts';

const MINUTE_MS = 60_000;
const inRunners = ['-n', NAMESPACES.runners];

/** Names of the runners' pods in a state, as the controller labels them. */
async function runners(state: 'warm' | 'leased'): Promise<string[]> {
  const selector = `${LABELS.state}=${state}`;
  const text = await kubectl([
    ...inRunners,
    'get',
    'pods',
    '-l',
    selector,
    '-o',
    'jsonpath={range .items[*]}{.metadata.name}{"\\n"}{end}',
  ]);
  return text.split('\n').filter(Boolean);
}

describe('Argo CD, on a git repository of the test', { timeout: 5 * MINUTE_MS }, () => {
  let env: Environment;
  let ingress: Ingress;
  beforeAll(async () => {
    const tool = localTool();
    if (tool) await promisify(execFile)(tool, ['argocd']);
    env = await deployedEnvironment();
    ingress = await openIngress();
    await follow(env);
  }, 3 * MINUTE_MS);
  afterAll(async () => {
    await waitUntilSynced(await push(env));
    await removeApplications();
    ingress.close();
  }, 5 * MINUTE_MS);

  it('[C4] syncs manifests/rendered/local: Synced and Healthy', async () => {
    await waitUntilSynced(await push(env));
  });

  it('sees no drift whenever it compares, while a live controller leases and ends', async () => {
    const sessions = new BrowserSessions(ingress);
    const seen = new Set<string | undefined>();
    for (let round = 0; round < 4; round += 1) {
      const lease = await sessions.acquire({ userId: 'argo', conversationId: 'drift', recordVideo: false });
      seen.add((await compareRevisions()).sync);
      await lease.end();
      seen.add((await compareRevisions()).sync);
    }
    expect([...seen]).toEqual(['Synced']);
  });

  it('heals a deleted NetworkPolicy by itself', async () => {
    await kubectl([...inRunners, 'delete', 'networkpolicy', 'runners']);
    await eventually(
      'the policy is back',
      async () => (await tryKubectl([...inRunners, 'get', 'networkpolicy', 'runners'])).ok,
      MINUTE_MS,
    );
  });

  it('prunes what the repository no longer has', async () => {
    const name = 'to-be-pruned';
    const get = ['-n', NAMESPACES.system, 'get', 'configmap', name];
    const file = `core/${NAMESPACES.system}/configmap.${name}.yaml`;
    const text = JSON.stringify({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name, namespace: NAMESPACES.system },
    });
    await waitUntilSynced(await push(env, { [file]: text }));
    expect((await tryKubectl(get)).ok).toBe(true);
    await waitUntilSynced(await push(env));
    await eventually('it is gone', async () => !(await tryKubectl(get)).ok, MINUTE_MS);
  });

  it('brings a changed template: warm runners are replaced, a leased one serves on', async () => {
    const lease = await new BrowserSessions(ingress).acquire({
      userId: 'argo',
      conversationId: 'roll',
      recordVideo: false,
    });
    await using browser = await connectMcpBrowser(lease);
    await browser.goto(`${SITES.site}/login`);
    const before = await eventually(
      'warm runners',
      async () => {
        const warm = await runners('warm');
        return warm.length >= env.limits.poolIdle && warm;
      },
      2 * MINUTE_MS,
    );
    const [cpu] = env.runner.browser.cpu;
    await waitUntilSynced(
      await push({ ...env, runner: { ...env.runner, browser: { ...env.runner.browser, cpu: [cpu, '1900m'] } } }),
    );
    await eventually(
      'other warm runners',
      async () => {
        const warm = await runners('warm');
        return warm.length >= env.limits.poolIdle && !warm.some(name => before.includes(name));
      },
      3 * MINUTE_MS,
    );
    expect(lease.signal.aborted).toBe(false);
    expect(await browser.evaluate('() => location.pathname')).toBe('/login');
    await lease.end();
  });
});
