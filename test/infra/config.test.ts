import { describe, expect, test } from 'vitest';
import { architectureOf } from '../../infra/architecture.ts';
import { parseConfig } from '../../infra/config.ts';
import { stackConfig, stackValues } from './capture.ts';

/** The configuration of dev with one value changed: `edit('network.cidr', …)`. */
function edit(path: string, value: unknown): Record<string, string> {
  const values = stackValues('dev');
  const [key = '', ...rest] = path.split('.');
  const name = `omicron-browser:${key}`;
  if (rest.length === 0) {
    values[name] = typeof value === 'string' ? value : JSON.stringify(value);
    return values;
  }
  const tree = JSON.parse(values[name] ?? '{}') as Record<string, unknown>;
  const last = rest.pop() ?? '';
  let node = tree;
  for (const step of rest) node = node[step] as Record<string, unknown>;
  if (value === undefined) delete node[last];
  else node[last] = value;
  values[name] = JSON.stringify(tree);
  return values;
}

/** The message for the person: the lines below the heading. */
function complaints(values: Record<string, string>, env = 'dev'): string[] {
  try {
    parseConfig(env, values);
    return [];
  } catch (error) {
    const [heading, ...lines] = (error as Error).message.split('\n');
    expect(heading).toBe(`Invalid configuration in Pulumi.${env}.yaml:`);
    return lines.map(line => line.trim());
  }
}

test('both stacks are right as they are committed', () => {
  expect(stackConfig('dev')).toMatchObject({ env: 'dev', region: 'eu-central-1', protect: false });
  expect(stackConfig('prod')).toMatchObject({ env: 'prod', protect: true, cluster: { publicAccessCidrs: [] } });
});

test('production resists what development saves on', () => {
  const [dev, prod] = [stackConfig('dev'), stackConfig('prod')];
  expect([dev.network.natGateways, prod.network.natGateways]).toEqual(['one', 'per-zone']);
  expect([dev.network.endpointZones, prod.network.endpointZones]).toEqual([1, 3]);
  expect([dev.browserNodes.spotPercent, prod.browserNodes.spotPercent]).toEqual([100, 0]);
  expect(dev.browserNodes.min).toBe(0);
  expect(prod.browserNodes.min).toBeGreaterThan(1);
});

describe('a wrong value is one line that names its key', () => {
  test.each<[string, unknown, string]>([
    [
      'network.natGateways',
      'two',
      'omicron-browser:network.natGateways: Invalid option: expected one of "one"|"per-zone", got "two"',
    ],
    [
      'network.cidr',
      '10.40.0.0',
      'omicron-browser:network.cidr: expected an IPv4 range such as 10.40.0.0/16, got "10.40.0.0"',
    ],
    [
      'network.cidr',
      '10.40.0.1/16',
      'omicron-browser:network.cidr: expected an IPv4 range such as 10.40.0.0/16, got "10.40.0.1/16"',
    ],
    ['network.cidr', '10.0.0.0/8', 'omicron-browser:network.cidr: expected a prefix from /16 to /20, got "10.0.0.0/8"'],
    [
      'network.cidr',
      '172.20.0.0/17',
      'omicron-browser:network.cidr: expected a range apart from 172.20.0.0/16, which holds the Services, got "172.20.0.0/17"',
    ],
    [
      'network.zones',
      ['eu-central-1a'],
      'omicron-browser:network.zones: Too small: expected array to have exactly 3 items, got ["eu-central-1a"]',
    ],
    [
      'network.zones',
      ['us-east-1a', 'eu-central-1b', 'eu-central-1c'],
      'omicron-browser:network.zones: expected zones of eu-central-1, got ["us-east-1a"]',
    ],
    ['network.endpointZones', 4, 'omicron-browser:network.endpointZones: Too big: expected number to be <=3, got 4'],
    ['cluster.version', 1.35, 'omicron-browser:cluster.version: expected string, got 1.35'],
    [
      'cluster.publicAccessCidrs',
      ['0.0.0.0/0'],
      'omicron-browser:cluster.publicAccessCidrs.0: expected a range of /8 or narrower, got "0.0.0.0/0"',
    ],
    [
      'cluster.adminRoles',
      ['arn:aws:iam::1:role/x'],
      'omicron-browser:cluster.adminRoles.0: expected the name of an IAM role of this account, with its path, without arn:, got "arn:aws:iam::1:role/x"',
    ],
    [
      'browserNodes.spotPercent',
      101,
      'omicron-browser:browserNodes.spotPercent: Too big: expected number to be <=100, got 101',
    ],
    ['browserNodes.podsMax', undefined, 'omicron-browser:browserNodes.podsMax: expected number, it is missing'],
    [
      'systemNodes.instanceTypes',
      ['m6a.large', 'm7gd.large'],
      'omicron-browser:systemNodes.instanceTypes: expected types of one architecture, since a node group has one image for its nodes, got ["m6a.large","m7gd.large"]',
    ],
    [
      'browserNodes.instanceTypes',
      ['Graviton'],
      'omicron-browser:browserNodes.instanceTypes.0: expected an EC2 instance type such as m6a.2xlarge, got "Graviton"',
    ],
    ['browserNodes.min', 17, 'omicron-browser:browserNodes.min: expected min to be at most max, got 17'],
    ['browserNodes.diskGib', 100, 'omicron-browser:browserNodes.diskGib: no such key; remove it or correct its name'],
    ['systemNodes.min', 0, 'omicron-browser:systemNodes.min: Too small: expected number to be >=1, got 0'],
    [
      'artifacts.retentionDays',
      0,
      'omicron-browser:artifacts.retentionDays: Too small: expected number to be >=1, got 0',
    ],
    [
      'artifacts.readerRoles',
      [],
      'omicron-browser:artifacts.readerRoles: Too small: expected array to have >=1 items, got []',
    ],
    ['artifacts.replay', undefined, 'omicron-browser:artifacts.replay: expected boolean, it is missing'],
    [
      'gitops.repository',
      'git@github.com:a/b.git',
      'omicron-browser:gitops.repository: expected the https URL of the git repository that Argo CD reads, or the oci URL of an artifact, got "git@github.com:a/b.git"',
    ],
    ['protect', 'yes', 'omicron-browser:protect: expected boolean, got "yes"'],
    ['netwrok', {}, 'omicron-browser:netwrok: no such key; remove it or correct its name'],
  ])('%s = %j', (path, value, line) => {
    expect(complaints(edit(path, value))).toEqual([line]);
  });
});

test.each(['t4g.large', 'm6g.xlarge', 'c7gn.2xlarge', 'im4gn.large', 'x2gd.large', 'a1.large'])(
  '%s is Graviton, and taken',
  type => {
    expect(architectureOf(type)).toBe('arm64');
    expect(complaints(edit('systemNodes.instanceTypes', [type]))).toEqual([]);
  },
);

test.each(['t3a.large', 'm7i-flex.large', 'g5.xlarge', 'g4dn.xlarge', 'x2iedn.xlarge', 'u7i-6tb.112xlarge'])(
  '%s is not',
  type => {
    expect(architectureOf(type)).toBe('amd64');
    expect(complaints(edit('systemNodes.instanceTypes', [type]))).toEqual([]);
  },
);

test('a log retention that CloudWatch does not know is refused', () => {
  const [line, ...rest] = complaints(edit('network.logDays', 10));
  expect(rest).toEqual([]);
  expect(line).toMatch(/^omicron-browser:network\.logDays: .*got 10$/);
});

test('every wrong value has its line, not the first alone', () => {
  const values = {
    ...edit('network.endpointZones', 0),
    'aws:region': 'Frankfurt',
    'omicron-browser:protect': '"no"',
  };
  expect(complaints(values).map(line => line.split(': ')[0])).toEqual([
    'omicron-browser:network.endpointZones',
    'omicron-browser:protect',
    'aws:region',
  ]);
});

test('an empty configuration names every key that is missing', () => {
  expect(complaints({}).map(line => line.replace(/: .*/, ''))).toEqual(
    expect.arrayContaining([
      'omicron-browser:network',
      'omicron-browser:gitops',
      'omicron-browser:protect',
      'aws:region',
    ]),
  );
});

test('a stack whose name AWS could not carry is refused', () => {
  expect(complaints(stackValues('dev'), 'Development')).toEqual([
    'stack name: expected up to 12 of a-z, 0-9 and -, got "Development"',
  ]);
});
