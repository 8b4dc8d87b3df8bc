import { describe, expect, test } from 'vitest';
import { INSTANCE_NAMES, INSTANCES } from '../../cli/cost/prices.ts';
import { ENV, TOMBSTONES_MAX } from '../../contract/names.ts';
import { fitRunners } from '../../contract/node-capacity.ts';
import { PROFILE_LIMITS } from '../../contract/profile.ts';
import { parseQuantity } from '../../contract/quantity.ts';
import { ENVIRONMENTS } from '../../manifests/environments.ts';
import { EGRESS_GRACE_SECONDS, START_SECONDS } from '../../manifests/parts/configuration.ts';
import { LINGER_SECONDS } from '../../manifests/parts/deployment.ts';
import { runnerGraceSeconds } from '../../manifests/parts/runner-containers.ts';
import { renderObjects } from '../../manifests/render.ts';
import { arrayOf, readField } from '../../policies/manifests/rule.ts';
import { DEFAULT_LIMITS } from '../../runner/browser/limits.ts';
import { DEFAULT_FILE_LIMITS } from '../../runner/files/limits.ts';
import { RECORDING_BYTES_MAX } from '../../runner/recording/recording.ts';
import { stackConfig } from '../infra/capture.ts';

const RESOURCES = ['cpu', 'memory', 'ephemeral-storage'] as const;

/** The requests of one pod of a template: sidecars run beside the containers, so all count. */
function podAmount(spec: unknown, kind: 'requests' | 'limits', resource: string): number {
  return [...arrayOf(readField(spec, 'initContainers')), ...arrayOf(readField(spec, 'containers'))]
    .map(container => parseQuantity(String(readField(container, 'resources', kind, resource))))
    .reduce((sum, each) => sum + each, 0);
}

const find = (env: keyof typeof ENVIRONMENTS, kind: string, name: string) => {
  const found = [...renderObjects(ENVIRONMENTS[env]).values()].find(
    each => each.kind === kind && each.metadata.name === name,
  );
  if (!found) throw new Error(`${env} has no ${kind} ${name}`);
  return found;
};
const runnerSpec = (env: keyof typeof ENVIRONMENTS) =>
  readField(find(env, 'PodTemplate', 'pw-mcp-runner'), 'template', 'spec');

test('the pool of prod is sized by demand, for a step to four claims a second with starts of ten seconds', () => {
  const data = readField(find('prod', 'ConfigMap', 'browser-session-controller'), 'data');
  const [idle, most] = [ENV.poolIdle, ENV.poolIdleMax].map(name => Number(readField(data, name)));
  expect(most).toBeGreaterThanOrEqual(4 * 10 * 1.5);
  expect(idle).toBeLessThan(most ?? 0);
  expect(most).toBeLessThan(ENVIRONMENTS.prod.limits.capacity / 2); // sessions find a place beside it
});

describe.each(['local', 'dev', 'prod'] as const)('%s', name => {
  const env = ENVIRONMENTS[name];
  const spec = runnerSpec(name);
  const hard = readField(find(name, 'ResourceQuota', 'runners'), 'spec', 'hard');
  const quota = (key: string): number => parseQuantity(String(readField(hard, key)));

  test('the quota holds as many runners as the cap, each with all that its template asks for, and a tenth more', () => {
    const pods = quota('count/pods');
    expect(pods).toBeGreaterThanOrEqual(env.limits.capacity);
    expect(pods).toBeLessThanOrEqual(Math.ceil(env.limits.capacity * 1.1));
    expect(quota('count/endpointslices.discovery.k8s.io')).toBe(pods + TOMBSTONES_MAX);
    for (const kind of ['requests', 'limits'] as const)
      for (const resource of RESOURCES) {
        const needed = pods * podAmount(spec, kind, resource);
        expect(quota(`${kind}.${resource}`), `${kind}.${resource}`).toBeGreaterThanOrEqual(needed * 0.999);
        expect(quota(`${kind}.${resource}`), `${kind}.${resource}`).toBeLessThanOrEqual(needed * 1.001);
      }
  });

  test('runners preempt only placeholders; controller and egress proxy find room on a full node', () => {
    const priority = (spec: unknown) =>
      Number(readField(find(name, 'PriorityClass', String(readField(spec, 'priorityClassName'))), 'value'));
    const deployed = (deployment: string) =>
      priority(readField(find(name, 'Deployment', deployment), 'spec', 'template', 'spec'));
    const WITHOUT_CLASS = 0;
    expect(priority(spec)).toBe(WITHOUT_CLASS);
    if (env.spareRunners > 0) expect(deployed('spare-runner')).toBeLessThan(priority(spec));
    for (const each of ['browser-session-controller', 'egress-proxy'])
      expect(deployed(each)).toBeGreaterThan(WITHOUT_CLASS);
  });

  test('no container of the template is above the limit range', () => {
    const [{ max }] = arrayOf(readField(find(name, 'LimitRange', 'runners'), 'spec', 'limits')) as [
      { max: Record<string, string> },
    ];
    for (const container of [...arrayOf(readField(spec, 'initContainers')), ...arrayOf(readField(spec, 'containers'))])
      for (const resource of RESOURCES)
        expect(parseQuantity(String(readField(container, 'resources', 'limits', resource)))).toBeLessThanOrEqual(
          parseQuantity(max[resource] ?? '0'),
        );
  });

  test('volumes of a runner fit into its limits', () => {
    const size = (memory: boolean) =>
      arrayOf(readField(spec, 'volumes'))
        .filter(
          volume => readField(volume, 'emptyDir') && (readField(volume, 'emptyDir', 'medium') === 'Memory') === memory,
        )
        .reduce<number>((sum, volume) => sum + parseQuantity(String(readField(volume, 'emptyDir', 'sizeLimit'))), 0);
    expect(size(false)).toBeLessThanOrEqual(podAmount(spec, 'limits', 'ephemeral-storage'));
    expect(size(true)).toBeLessThanOrEqual(podAmount(spec, 'limits', 'memory') / 4);
  });

  test('the volumes hold all that a page may write there: a pod that outgrows one is evicted, with what is not uploaded yet', () => {
    const size = (name: string) =>
      parseQuantity(
        String(
          readField(
            arrayOf(readField(spec, 'volumes')).find(each => readField(each, 'name') === name),
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
    const spare = readField(find(name, 'Deployment', 'spare-runner'), 'spec', 'template', 'spec');
    for (const resource of RESOURCES)
      expect(podAmount(spare, 'requests', resource)).toBeCloseTo(podAmount(spec, 'requests', resource));
    expect(readField(spare, 'nodeSelector')).toEqual(readField(spec, 'nodeSelector'));
    expect(readField(spare, 'tolerations')).toEqual(readField(spec, 'tolerations'));
  });

  test('whatever stops has the time for it: a runner its upload, a controller its starts, a proxy its connections', () => {
    expect(readField(spec, 'terminationGracePeriodSeconds')).toBe(runnerGraceSeconds(env));
    const grace = (deployment: string) =>
      Number(
        readField(find(name, 'Deployment', deployment), 'spec', 'template', 'spec', 'terminationGracePeriodSeconds'),
      );
    expect(grace('browser-session-controller')).toBeGreaterThan(LINGER_SECONDS + START_SECONDS);
    expect(grace('egress-proxy')).toBeGreaterThan(LINGER_SECONDS + EGRESS_GRACE_SECONDS);
  });
});

test('in dev a runner asks for what the first document says, in prod for a quarter of it, with the same limits', () => {
  const limits = { cpu: '2', memory: '4Gi', 'ephemeral-storage': '8Gi' };
  const resources = (env: 'dev' | 'prod') =>
    readField(arrayOf(readField(runnerSpec(env), 'containers'))[0], 'resources');
  expect(resources('dev')).toMatchObject({ requests: { cpu: '1', memory: '2Gi' }, limits });
  expect(resources('prod')).toMatchObject({ limits });
  expect(podAmount(runnerSpec('prod'), 'requests', 'cpu')).toBeCloseTo(0.25);
  expect(podAmount(runnerSpec('prod'), 'requests', 'memory')).toBe(0.5 * 1024 ** 3);
});

test('runners and their placeholders are on nodes of the architecture that an environment names, and on any otherwise', () => {
  const selectors = (architecture?: 'arm64') =>
    [
      ...renderObjects({ ...ENVIRONMENTS.prod, runner: { ...ENVIRONMENTS.prod.runner, architecture } }).values(),
    ].flatMap(({ kind, metadata, ...object }) => {
      if (kind === 'PodTemplate') return [readField(object, 'template', 'spec', 'nodeSelector')];
      if (kind !== 'Deployment') return [];
      const selector = readField(object, 'spec', 'template', 'spec', 'nodeSelector');
      return metadata.name === 'spare-runner' || selector !== undefined ? [selector] : [];
    });
  const any = { workload: 'browser' };
  expect(selectors()).toEqual([any, any]);
  expect(selectors('arm64')).toEqual([
    { ...any, 'kubernetes.io/arch': 'arm64' },
    { ...any, 'kubernetes.io/arch': 'arm64' },
  ]);
});

test.each([
  ['dev', 7],
  ['prod', 120],
] as const)('%s: %i runners fit a node, its placeholders part of one, and its nodes hold the cap', (name, runners) => {
  const spec = runnerSpec(name);
  const { browserNodes } = stackConfig(name);
  const instance = INSTANCE_NAMES.find(each => each === browserNodes.instanceTypes[0]);
  if (!instance) throw new Error(`no size is known of ${browserNodes.instanceTypes}`);
  const fit = fitRunners(
    { ...INSTANCES[instance], ...browserNodes },
    {
      cores: podAmount(spec, 'requests', 'cpu'),
      memoryBytes: podAmount(spec, 'requests', 'memory'),
      diskBytes: podAmount(spec, 'requests', 'ephemeral-storage'),
    },
  );
  expect(fit.runners).toBe(runners);
  expect(browserNodes.podsMax).toBeLessThanOrEqual(INSTANCES[instance].podsMax);
  const { spareRunners, limits } = ENVIRONMENTS[name];
  expect(spareRunners).toBeLessThanOrEqual(runners);
  expect(browserNodes.max * runners).toBeGreaterThanOrEqual(limits.capacity + spareRunners);
});

test('prod holds 500 sessions besides its pool, at 70 % of the places on its nodes', () => {
  const { capacity, poolIdle } = ENVIRONMENTS.prod.limits;
  expect(capacity - poolIdle).toBeGreaterThanOrEqual(500);
  expect(stackConfig('prod').browserNodes.max * 120 * 0.7).toBeGreaterThanOrEqual(500);
});
