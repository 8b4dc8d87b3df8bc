import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { PRICED_DEPLOYMENTS, type PricedEnvironment } from '../../cli/cost/deployments.ts';
import { estimateCost } from '../../cli/cost/estimate.ts';
import { PRICED_REGION } from '../../cli/cost/prices.ts';
import { ENVIRONMENTS } from '../../manifests/environments.ts';
import { runHere } from './run-here.ts';

const NAMES = Object.keys(PRICED_DEPLOYMENTS) as PricedEnvironment[]; // its keys
const cores = (text: string) => (text.endsWith('m') ? Number(text.slice(0, -1)) / 1_000 : Number(text));
const gib = (text: string) => (text.endsWith('Mi') ? Number(text.slice(0, -2)) / 1_024 : Number(text.slice(0, -2)));
const cost = (...args: string[]) => runHere(['cost', ...args], { environment: {} });

it.each(NAMES)('%s costs what its stack and its manifests deploy', async name => {
  const { config } = parse(await readFile(`Pulumi.${name}.yaml`, 'utf8'));
  const of = (key: string) => config[`omicron-browser:${key}`];
  const priced = PRICED_DEPLOYMENTS[name];
  expect(config['aws:region']).toBe(PRICED_REGION);
  expect(priced).toMatchObject({
    systemNodes: {
      type: of('systemNodes').instanceTypes[0],
      count: of('systemNodes').min,
      diskGiB: of('systemNodes').diskGiB,
    },
    browserNodes: {
      type: of('browserNodes').instanceTypes[0],
      capacity: of('browserNodes').capacity,
      max: of('browserNodes').max,
      diskGiB: of('browserNodes').diskGiB,
    },
    natGateways: of('network').natGateways === 'one' ? 1 : of('network').zones.length,
    endpointZones: of('network').endpointZones,
    retentionDays: of('artifacts').retentionDays,
  });
  const { runner, limits } = ENVIRONMENTS[name];
  expect(priced.capacity).toBe(limits.capacity);
  expect(priced.runner.cores).toBeCloseTo(cores(runner.browser.cpu[0]) + cores(runner.uploader.cpu[0]));
  expect(priced.runner.memoryGiB).toBeCloseTo(gib(runner.browser.memory[0]) + gib(runner.uploader.memory[0]));
});

it('the parts add up, per month and per session-hour, and a fuller fleet is cheaper', () => {
  const { prod, dev } = PRICED_DEPLOYMENTS;
  const estimate = estimateCost(prod, 100, 1);
  expect(estimate).toMatchObject({ runners_per_node: 7, browser_nodes: 15 });
  expect(estimate.usd_month).toBeCloseTo(estimate.lines.reduce((sum, { usd_month }) => sum + usd_month, 0));
  expect(estimate.usd_session_hour * 100 * 730).toBeCloseTo(estimate.usd_month);
  // 15 nodes for 100 sessions, by hand
  expect(estimate.usd_session_hour_of_nodes).toBeCloseTo((15 * 0.4147) / 100);
  expect(estimateCost(prod, 100, 0.7).usd_month).toBeGreaterThan(estimate.usd_month);
  expect(estimateCost(dev, 100, 1).usd_month).toBeLessThan(estimate.usd_month);
});

it('each figure has its source and the month in which it was read', async () => {
  const { code, stdout, stderr } = await cost('--sessions', '90', '-o', 'json');
  expect([code, stderr]).toEqual([0, '']);
  const { lines, ...rest } = JSON.parse(stdout);
  expect(rest).toMatchObject({ env: 'prod', fill: 0.7, sessions: 90, limits: [] });
  for (const { item, source, read } of lines) {
    expect(source, item).toMatch(/^https:\/\/aws\.amazon\.com\//);
    expect(read, item).toMatch(/^2026-\d\d$/);
  }
  const table = await cost('--sessions', '90', '-o', 'table');
  expect(table.stdout).toMatch(/EKS control plane +730 +hour +0\.1 +73\.00 /);
  expect(table.stdout).toMatch(/\(total\)/);
});

it('more sessions than the deployment holds are named with the settings that must grow', async () => {
  const { code, stderr } = await cost('--sessions', '500');
  expect(code).toBe(0);
  expect(stderr).toContain('capacity: 120, needed 500');
  expect(stderr).toContain('browserNodes.max: 20, needed 103');
});

it.each([
  ['--sessions', '0'],
  ['--sessions', 'many'],
  ['--sessions', '10', '--fill', '101'],
  ['--sessions', '10', '--env', 'moon'],
  ['--env', 'prod'],
])('%s %s is refused before anything is computed', async (...args) => {
  const { code, stdout, stderr } = await cost(...args);
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toContain(args.length > 2 ? args[2] : '--sessions');
});
