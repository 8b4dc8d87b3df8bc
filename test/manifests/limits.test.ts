import { describe, expect, test } from 'vitest';
import { TOMBSTONES_MAX } from '../../contract/names.ts';
import { PROFILE_LIMITS } from '../../contract/profile.ts';
import { ENVIRONMENTS } from '../../manifests/environments.ts';
import { EGRESS_GRACE_SECONDS, START_SECONDS } from '../../manifests/parts/configuration.ts';
import { LINGER_SECONDS } from '../../manifests/parts/deployment.ts';
import { amount } from '../../manifests/parts/quantities.ts';
import { runnerGraceSeconds } from '../../manifests/parts/runner-containers.ts';
import { objects } from '../../manifests/render.ts';
import { at, list } from '../../policies/manifests/rule.ts';
import { DEFAULT_LIMITS } from '../../runner/browser/limits.ts';
import { DEFAULT_FILE_LIMITS } from '../../runner/files/limits.ts';
import { RECORDING_BYTES_MAX } from '../../runner/recording/recording.ts';
import { stackConfig } from '../infra/capture.ts';

const RESOURCES = ['cpu', 'memory', 'ephemeral-storage'] as const;

/** What one pod of a template asks for: sidecars run beside the containers, so all count. */
function podAmount(spec: unknown, kind: 'requests' | 'limits', resource: string): number {
  return [...list(at(spec, 'initContainers')), ...list(at(spec, 'containers'))]
    .map(container => amount(String(at(container, 'resources', kind, resource))))
    .reduce((sum, each) => sum + each, 0);
}

const find = (env: keyof typeof ENVIRONMENTS, kind: string, name: string) => {
  const found = [...objects(ENVIRONMENTS[env]).values()].find(
    each => each.kind === kind && each.metadata.name === name,
  );
  if (!found) throw new Error(`${env} has no ${kind} ${name}`);
  return found;
};
const runnerSpec = (env: keyof typeof ENVIRONMENTS) =>
  at(find(env, 'PodTemplate', 'pw-mcp-runner'), 'template', 'spec');

describe.each(['local', 'dev', 'prod'] as const)('%s', name => {
  const env = ENVIRONMENTS[name];
  const spec = runnerSpec(name);
  const hard = at(find(name, 'ResourceQuota', 'runners'), 'spec', 'hard');
  const quota = (key: string): number => amount(String(at(hard, key)));

  test('the quota holds as many runners as the cap, each with all that its template asks for, and a tenth more', () => {
    const pods = quota('count/pods');
    expect(pods).toBeGreaterThanOrEqual(env.limits.capacity);
    expect(pods).toBeLessThanOrEqual(Math.ceil(env.limits.capacity * 1.1));
    expect(quota('count/services')).toBe(pods + TOMBSTONES_MAX);
    for (const kind of ['requests', 'limits'] as const)
      for (const resource of RESOURCES) {
        const needed = pods * podAmount(spec, kind, resource);
        expect(quota(`${kind}.${resource}`), `${kind}.${resource}`).toBeGreaterThanOrEqual(needed * 0.999);
        expect(quota(`${kind}.${resource}`), `${kind}.${resource}`).toBeLessThanOrEqual(needed * 1.001);
      }
  });

  test('runners preempt only placeholders; controller and egress proxy find room on a full node', () => {
    const priority = (spec: unknown) =>
      Number(at(find(name, 'PriorityClass', String(at(spec, 'priorityClassName'))), 'value'));
    const deployed = (deployment: string) =>
      priority(at(find(name, 'Deployment', deployment), 'spec', 'template', 'spec'));
    const WITHOUT_CLASS = 0;
    expect(priority(spec)).toBe(WITHOUT_CLASS);
    if (env.spareRunners > 0) expect(deployed('spare-runner')).toBeLessThan(priority(spec));
    for (const each of ['browser-session-controller', 'egress-proxy'])
      expect(deployed(each)).toBeGreaterThan(WITHOUT_CLASS);
  });

  test('no container of the template is above the limit range', () => {
    const [{ max }] = list(at(find(name, 'LimitRange', 'runners'), 'spec', 'limits')) as [
      { max: Record<string, string> },
    ];
    for (const container of [...list(at(spec, 'initContainers')), ...list(at(spec, 'containers'))])
      for (const resource of RESOURCES)
        expect(amount(String(at(container, 'resources', 'limits', resource)))).toBeLessThanOrEqual(
          amount(max[resource] ?? '0'),
        );
  });

  test('what a runner may write fits into what it may use', () => {
    const size = (memory: boolean) =>
      list(at(spec, 'volumes'))
        .filter(volume => at(volume, 'emptyDir') && (at(volume, 'emptyDir', 'medium') === 'Memory') === memory)
        .reduce<number>((sum, volume) => sum + amount(String(at(volume, 'emptyDir', 'sizeLimit'))), 0);
    expect(size(false)).toBeLessThanOrEqual(podAmount(spec, 'limits', 'ephemeral-storage'));
    expect(size(true)).toBeLessThanOrEqual(podAmount(spec, 'limits', 'memory') / 4);
  });

  test('the volumes hold all that a page may write there: a pod that outgrows one is evicted, with what is not uploaded yet', () => {
    const size = (name: string) =>
      amount(
        String(
          at(
            list(at(spec, 'volumes')).find(each => at(each, 'name') === name),
            'emptyDir',
            'sizeLimit',
          ),
        ),
      );
    const files = (DEFAULT_LIMITS.downloadsMb + DEFAULT_FILE_LIMITS.filesMb) * 1024 ** 2;
    expect(RECORDING_BYTES_MAX + files).toBeLessThan(size('output'));
    // A save copies the files of a complete profile.
    expect(2 * PROFILE_LIMITS.filesBytesMax + DEFAULT_LIMITS.downloadsMb * 1024 ** 2).toBeLessThan(size('tmp'));
  });

  test('a placeholder is of exactly the size of a runner, so that pushing one out makes room for one', () => {
    if (env.spareRunners === 0) return expect(() => find(name, 'Deployment', 'spare-runner')).toThrow();
    const spare = at(find(name, 'Deployment', 'spare-runner'), 'spec', 'template', 'spec');
    for (const resource of RESOURCES)
      expect(podAmount(spare, 'requests', resource)).toBeCloseTo(podAmount(spec, 'requests', resource));
    expect(at(spare, 'nodeSelector')).toEqual(at(spec, 'nodeSelector'));
    expect(at(spare, 'tolerations')).toEqual(at(spec, 'tolerations'));
  });

  test('whatever stops has the time for it: a runner its upload, a controller its starts, a proxy its connections', () => {
    expect(at(spec, 'terminationGracePeriodSeconds')).toBe(runnerGraceSeconds(env));
    const grace = (deployment: string) =>
      Number(at(find(name, 'Deployment', deployment), 'spec', 'template', 'spec', 'terminationGracePeriodSeconds'));
    expect(grace('browser-session-controller')).toBeGreaterThan(LINGER_SECONDS + START_SECONDS);
    expect(grace('egress-proxy')).toBeGreaterThan(LINGER_SECONDS + EGRESS_GRACE_SECONDS);
  });
});

test('in prod a runner asks for what the first document says', () => {
  const [browser] = list(at(runnerSpec('prod'), 'containers'));
  expect(at(browser, 'resources')).toMatchObject({
    requests: { cpu: '1', memory: '2Gi' },
    limits: { cpu: '2', memory: '4Gi' },
  });
});

// EKS on an m6a.2xlarge with its defaults: 8 vCPU and 32 GiB, less what the kubelet, aws-node and kube-proxy take.
const NODE = { cpu: 7.75, memory: 29 * 1024 ** 3, diskPart: 0.85 };

test('prod: seven runners fit a node, its placeholders are one node, and its nodes hold the cap', () => {
  const spec = runnerSpec('prod');
  const { browserNodes } = stackConfig('prod');
  const fit = Math.floor(
    Math.min(
      NODE.cpu / podAmount(spec, 'requests', 'cpu'),
      NODE.memory / podAmount(spec, 'requests', 'memory'),
      (browserNodes.diskGiB * 1024 ** 3 * NODE.diskPart) / podAmount(spec, 'requests', 'ephemeral-storage'),
    ),
  );
  expect(fit).toBe(7);
  expect(ENVIRONMENTS.prod.spareRunners).toBe(fit);
  expect(browserNodes.max * fit).toBeGreaterThanOrEqual(ENVIRONMENTS.prod.limits.capacity);
});
