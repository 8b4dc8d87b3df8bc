import { beforeAll, describe, expect, test } from 'vitest';
import type { Resource } from '../../policies/rule.ts';
import { findIdleWaivers, findViolations, RULES } from '../../policies/rules.ts';
import { capture, stackConfig } from '../infra/capture.ts';
import { CLUSTER_BREAKS } from './breaks/cluster.ts';
import { IDENTITY_BREAKS } from './breaks/identity.ts';
import { MAINTENANCE_BREAKS } from './breaks/maintenance.ts';
import { NODES_BREAKS } from './breaks/nodes.ts';
import { STORAGE_BREAKS } from './breaks/storage.ts';
import { type Breaks, broken } from './broken.ts';

let dev: readonly Resource[];
let prod: readonly Resource[];
beforeAll(async () => {
  dev = (await capture(stackConfig('dev'))).resources;
  prod = (await capture(stackConfig('prod'))).resources;
});

const KEY = 'aws:kms/key:Key';

const BREAKS: Breaks = {
  ...STORAGE_BREAKS,
  ...NODES_BREAKS,
  ...CLUSTER_BREAKS,
  ...IDENTITY_BREAKS,
  ...MAINTENANCE_BREAKS,
};

test.each(['dev', 'prod'])('the stack %s breaks no rule', env => {
  const found = findViolations(env === 'dev' ? dev : prod);
  expect(found.map(({ rule, resource, message }) => `${rule}: ${resource.name}: ${message}`)).toEqual([]);
});

test('every rule has its reason and a link, and a stack that breaks it', () => {
  for (const rule of RULES) {
    expect(rule.reason, rule.name).toMatch(/\.$/);
    expect(rule.link, rule.name).toMatch(/^https:\/\//);
  }
  expect(Object.keys(BREAKS).sort()).toEqual(RULES.map(rule => rule.name).sort());
});

describe.each(Object.entries(BREAKS))('%s', (rule, ways) => {
  test.each(Object.entries(ways))('is broken, and no other rule is, where %s', (_, how) => {
    const stack = rule.startsWith('prod-') ? prod : dev;
    const found = findViolations(broken(stack, how));
    expect([...new Set(found.map(violation => violation.rule))]).toEqual([rule]);
  });
});

test('a waiver excuses one statement of one resource: the same in another is found', () => {
  const found = findViolations(
    broken(dev, edit => {
      edit.statement(KEY, 'artifacts', 'AccountAdministers', statement => {
        statement.Sid = 'AccountDecidesByIam';
        statement.Action = 'kms:*';
      });
    }),
  );
  expect(found).toMatchObject([{ rule: 'no-wildcard-grant', resource: { name: 'artifacts' } }]);
});

test('no waiver is left over', () => {
  expect(findIdleWaivers(dev)).toEqual([]);
});
