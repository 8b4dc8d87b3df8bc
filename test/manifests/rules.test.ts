import { describe, expect, test } from 'vitest';
import { ENVIRONMENTS } from '../../manifests/environments.ts';
import { renderObjects } from '../../manifests/render.ts';
import { findIdleManifestWaivers, findManifestViolations, MANIFEST_RULES } from '../../policies/manifests/rules.ts';
import { BREAKS } from './breaks.ts';
import { inPod } from './broken.ts';
import { pushed } from './pushed.ts';

const rendered = Object.fromEntries(
  Object.values(ENVIRONMENTS).map(env => [env.name, [...renderObjects(pushed(env)).values()]]),
);
const manifestsOf = (env: string) => rendered[env] ?? [];

describe.each(Object.keys(ENVIRONMENTS))('%s', env => {
  test('breaks no rule but where the object itself says why', () => {
    const found = findManifestViolations(env, manifestsOf(env));
    expect(found.map(({ rule, manifest, message }) => `${rule}: ${manifest.metadata.name}: ${message}`)).toEqual([]);
  });

  test('waives nothing that it keeps anyway, and every waiver is a sentence', () => {
    expect(findIdleManifestWaivers(env, manifestsOf(env))).toEqual([]);
    const waivers = manifestsOf(env).flatMap(({ metadata }) =>
      Object.entries(metadata.annotations ?? {}).filter(([key]) => key.startsWith('ignore-check')),
    );
    for (const [key, reason] of waivers) expect(reason, key).toMatch(/^[A-Z].{20,}\.$/);
  });
});

test('every rule has its reason, and manifests that break it', () => {
  for (const rule of MANIFEST_RULES) expect(rule.reason, rule.name).toMatch(/[.)]$/);
  expect(Object.keys(BREAKS).sort()).toEqual(MANIFEST_RULES.map(({ name }) => name).sort());
});

test.each(Object.entries(BREAKS))('%s is found where it is broken, and nothing else is', (rule, how) => {
  const env = rule === 'latest-tag' || rule === 'no-default-deny' ? 'local' : 'prod';
  const found = findManifestViolations(env, how(manifestsOf(env)));
  expect([...new Set(found.map(violation => violation.rule))]).toEqual([rule]);
});

test('a waiver excuses one object: the same in another is found', () => {
  const change = inPod('Deployment', 'egress-proxy', 'automountServiceAccountToken', true);
  const found = findManifestViolations('prod', change(manifestsOf('prod')));
  expect(found).toMatchObject([
    { rule: 'automount-service-account-token', manifest: { metadata: { name: 'egress-proxy' } } },
  ]);
});
