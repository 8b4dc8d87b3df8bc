import { execFile } from 'node:child_process';
import { afterEach, expect, it } from 'vitest';
import { clusterEnvironment, kubectl } from '../../cluster/kubectl.ts';

interface Report {
  ok: boolean;
  checks: { check: string; ok: boolean; detail: string }[];
}

/** Runs the command as its user does; answers what it printed and its exit code. */
function doctor(env: NodeJS.ProcessEnv = {}): Promise<{ code: unknown; report: Report }> {
  const args = ['--disable-warning=ExperimentalWarning', 'cli/main.ts', 'doctor', '--cluster', '-o', 'json'];
  return new Promise(resolve =>
    execFile(process.execPath, args, { env: { ...clusterEnvironment(), ...env }, encoding: 'utf8' }, (error, stdout) =>
      resolve({ code: error?.code ?? 0, report: JSON.parse(stdout) }),
    ),
  );
}

const cordoned: string[] = [];
afterEach(async () => {
  for (const node of cordoned.splice(0)) await kubectl(['uncordon', node]);
});

it('finds a deployment that works whole', async () => {
  const { code, report } = await doctor();
  expect(report.checks.filter(({ ok }) => !ok)).toEqual([]);
  expect(report.checks.map(({ check }) => check)).toEqual(
    expect.arrayContaining([
      'cluster',
      'nodes',
      'namespaces',
      'admission-policies',
      'network-policies',
      'template',
      'secrets',
      'runners',
      'argocd',
    ]),
  );
  expect(code).toBe(0);
});

it('names the nodes to fix when none takes browsers', async () => {
  const names = await kubectl(['get', 'nodes', '-l', 'workload=browser', '-o', 'jsonpath={.items[*].metadata.name}']);
  for (const node of names.trim().split(' ')) {
    await kubectl(['cordon', node]);
    cordoned.push(node);
  }
  const { code, report } = await doctor();
  expect(report.checks.find(({ check }) => check === 'nodes')).toMatchObject({
    ok: false,
    detail: expect.stringContaining('uncordon'),
  });
  expect(code).toBe(1);
});

it('says that no cluster answers, and nothing more', async () => {
  const { code, report } = await doctor({ KUBECONFIG: '/nonexistent' });
  expect(report.checks).toEqual([{ check: 'cluster', ok: false, detail: expect.stringContaining('refused') }]);
  expect(code).toBe(1);
});
