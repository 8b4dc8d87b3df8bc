import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { PRICED_DEPLOYMENTS, type PricedEnvironment } from '../../cli/cost/deployments.ts';
import { estimateCost, runnersPerNode, withChoices } from '../../cli/cost/estimate.ts';
import { PRICES_OF_REGION } from '../../cli/cost/prices.ts';
import { RUNNER_SHAPES } from '../../contract/runner-shapes.ts';
import { ENVIRONMENTS } from '../../manifests/environments.ts';
import { PRICES } from '../../manifests/monitoring/prices.ts';
import { runHere } from './run-here.ts';

const NAMES = Object.keys(PRICED_DEPLOYMENTS) as PricedEnvironment[]; // its keys
const cost = (...args: string[]) => runHere(['cost', ...args], { environment: {} });
const { prod, dev } = PRICED_DEPLOYMENTS;

it.each(NAMES)('%s costs what its stack and its manifests deploy', async name => {
  const { config } = parse(await readFile(`Pulumi.${name}.yaml`, 'utf8'));
  const of = (key: string) => config[`omicron-browser:${key}`];
  const priced = PRICED_DEPLOYMENTS[name];
  expect(priced).toMatchObject({
    region: config['aws:region'],
    systemNodes: {
      type: of('systemNodes').instanceTypes[0],
      count: of('systemNodes').min,
      diskGiB: of('systemNodes').diskGiB,
    },
    browserNodes: {
      type: of('browserNodes').instanceTypes[0],
      spotPercent: of('browserNodes').spotPercent,
      max: of('browserNodes').max,
      diskGiB: of('browserNodes').diskGiB,
      podsMax: of('browserNodes').podsMax,
    },
    natGateways: of('network').natGateways === 'one' ? 1 : of('network').zones.length,
    endpointZones: of('network').endpointZones,
    retentionDays: of('artifacts').retentionDays,
  });
  const { runner, limits } = ENVIRONMENTS[name];
  expect(priced.capacity).toBe(limits.capacity);
  expect(runner).toMatchObject(RUNNER_SHAPES[priced.shape]);
});

it('the parts add up, per month and per session-hour, and a fuller fleet is cheaper', () => {
  const estimate = estimateCost(prod, { sessions: 240, fill: 1 });
  expect(estimate).toMatchObject({ runners_per_node: 120, browser_nodes: 2 });
  expect(estimate.usd_month).toBeCloseTo(estimate.lines.reduce((sum, { usd }) => sum + usd, 0));
  expect(estimate.usd_session_hour * 240 * 730).toBeCloseTo(estimate.usd_month);
  const parts = Object.values(estimate.usd_session_hour_by_part);
  expect(parts.reduce((sum, usd) => sum + usd)).toBeCloseTo(estimate.usd_session_hour);
  // 2 nodes for 240 sessions, by hand
  expect(estimate.usd_session_hour_by_part['browser nodes']).toBeCloseTo((2 * 1.3968) / 240);
  expect(estimateCost(prod, { sessions: 240, fill: 0.7 }).usd_month).toBeGreaterThan(estimate.usd_month);
});

it('prod holds 500 sessions as configured', async () => {
  const { code, stdout, stderr } = await cost('--sessions', '500');
  expect([code, stderr]).toEqual([0, '']);
  expect(JSON.parse(stdout)).toMatchObject({
    env: 'prod',
    shape: 'lean',
    runners_per_node: 120,
    browser_nodes: 6,
    limits: [],
  });
});

/** Figures of docs/adr/0106-a-lean-runner-and-its-price.md: those of the browser nodes, for 500 sessions at 70 % fill. */
it.each([
  ['eu-central-1', 'c6a.8xlarge', '0', 0.01676, false],
  ['eu-central-1', 'c6g.8xlarge', '0', 0.0149, true],
  ['us-east-1', 'c6a.8xlarge', '0', 0.01469, true],
  ['us-east-1', 'c6g.8xlarge', '0', 0.01306, true],
  ['eu-central-1', 'c6a.8xlarge', '100', 0.00736, false],
  ['eu-central-1', 'c6g.8xlarge', '100', 0.00554, true],
  ['us-east-1', 'c6a.8xlarge', '100', 0.0075, false],
  ['us-east-1', 'c6g.8xlarge', '100', 0.00456, true],
])('%s, %s, %s %% spot: %f a session-hour for the nodes; reached: %s', async (region, instance, spot, usd, reached) => {
  const of = { region, instance, spot };
  const { stdout } = await cost('--sessions', '500', ...Object.entries(of).flatMap(([name, is]) => [`--${name}`, is]));
  const { usd_session_hour_by_part: parts, usd_session_hour, aim } = JSON.parse(stdout);
  expect(parts['browser nodes']).toBeCloseTo(usd, 5);
  expect(aim).toEqual({ of: 'browser nodes', usd_session_hour: spot === '0' ? 0.015 : 0.006, reached });
  expect(usd_session_hour).toBeGreaterThan(parts['browser nodes'] + parts.traffic + parts.videos);
  const table = (
    await cost('--sessions', '500', '--region', region, '--instance', instance, '--spot', spot, '-o', 'table')
  ).stdout;
  expect(table).toMatch(new RegExp(`\\(aim for browser nodes: ${reached ? 'reached' : 'not reached'}\\)`));
});

it('sessions that are hibernated for two thirds of their hours cost a third of the nodes', () => {
  const { usd_session_hour_by_part: parts, aim } = estimateCost(prod, {
    sessions: 5_000,
    fill: 0.7,
    hibernated: 2 / 3,
  });
  expect(parts['browser nodes']).toBeCloseTo((20 * 1.3968) / 5_000);
  expect(aim).toMatchObject({ usd_session_hour: 0.006, reached: true });
  const few = estimateCost(prod, { sessions: 500, fill: 0.7, hibernated: 2 / 3 });
  expect(few).toMatchObject({ browser_nodes: 2, aim: { reached: true }, limits: [] });
  const many = estimateCost(prod, { sessions: 2_000, fill: 0.7, hibernated: 2 / 3 });
  expect(many.limits).toEqual(['capacity: 520, needed 667']);
});

it('the standard shape on the nodes of prod: a quarter as many runners, for four times the price', () => {
  const standard = withChoices(prod, { shape: 'standard' });
  expect(runnersPerNode(standard)).toEqual({ runners: 28, limitedBy: 'memory' });
  const nodes = (of: typeof standard) =>
    estimateCost(of, { sessions: 5_000, fill: 0.7 }).usd_session_hour_by_part['browser nodes'];
  expect(nodes(standard) / nodes(prod)).toBeCloseTo(120 / 28, 1);
});

it('the dashboard starts with the price of a runner of prod', () => {
  const { region, browserNodes } = prod;
  const prices = PRICES_OF_REGION[region];
  expect(PRICES.usdPerRunnerHour).toBeCloseTo(prices.onDemand[browserNodes.type].usd / runnersPerNode(prod).runners, 4);
  expect(PRICES.usdPerGbMonthStored).toBe(prices.storage.usd);
});

it('a share of spot instances is two lines, each with its price', () => {
  const { lines } = estimateCost(withChoices(prod, { spot: 25 }), { sessions: 500, fill: 0.7 });
  expect(lines.filter(({ part }) => part === 'browser nodes')).toMatchObject([
    { item: 'browser nodes: 6 c6a.8xlarge, 75 % on-demand', quantity: 6 * 730 * 0.75, price_usd: 1.3968 },
    { item: 'browser nodes: 6 c6a.8xlarge, 25 % spot', quantity: 6 * 730 * 0.25, price_usd: 0.6135 },
  ]);
});

it('[G4] each figure has its source and the month in which it was read', async () => {
  for (const choices of [[], ['--region', 'us-east-1', '--spot', '50']]) {
    const { lines } = JSON.parse((await cost('--sessions', '90', ...choices)).stdout);
    for (const { item, source, read } of lines) {
      expect(source, item).toMatch(/^https:\/\/(aws\.amazon\.com|github\.com)\//);
      expect(read, item).toMatch(/^2026-\d\d$/);
    }
  }
  const table = await cost('--sessions', '90', '-o', 'table');
  expect(table.stdout).toMatch(/EKS control plane +730 +hour +0\.1 +73\.00 /);
  expect(table.stdout).toMatch(/\(total\)/);
});

it('more sessions than the deployment holds are named with the settings that must grow', async () => {
  const { code, stderr } = await cost('--sessions', '5000');
  expect(code).toBe(0);
  expect(stderr).toContain('capacity: 520, needed 5000');
  expect(stderr).toContain('browserNodes.max: 8, needed 60');
  expect(estimateCost(dev, { sessions: 20, fill: 1 }).limits).toEqual([]);
});

it.each([
  ['--sessions', '0'],
  ['--sessions', 'many'],
  ['--fill', '101', '--sessions', '10'],
  ['--env', 'moon', '--sessions', '10'],
  ['--shape', 'tiny', '--sessions', '10'],
  ['--instance', 'x9.huge', '--sessions', '10'],
  ['--region', 'mars-1', '--sessions', '10'],
  ['--spot', '101', '--sessions', '10'],
  ['--hibernated', '-1', '--sessions', '10'],
  ['--prometheus', 'localhost:9090', '--last-day'],
  ['--last-day', '--sessions', '10'],
])('%s %s is refused before anything is computed', async (...args) => {
  const { code, stdout, stderr } = await cost(...args);
  expect([code, stdout]).toEqual([2, '']);
  for (const each of args.slice(0, 2)) expect(stderr).toContain(each);
});

it('without sessions and without --last-day, or without a Prometheus for it, the command says what is missing', async () => {
  expect(await cost('--env', 'prod')).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringContaining('--sessions'),
  });
  expect(await cost('--last-day')).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringContaining('--prometheus'),
  });
});
