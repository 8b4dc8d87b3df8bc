import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { chartFiles } from '../../manifests/chart/files.ts';
import { isOfTheChart } from '../../manifests/chart/objects.ts';
import { valuesOf } from '../../manifests/chart/values.ts';
import type { Environment } from '../../manifests/environment-type.ts';
import { ENVIRONMENTS } from '../../manifests/environments.ts';
import { renderObjects } from '../../manifests/render.ts';
import { buildGoTool } from '../go-tool.ts';
import { newFolder, run } from '../local/machine.ts';
import { pushed } from '../manifests/pushed.ts';
import { anyEnvironment } from '../manifests/random-environment.ts';

// Helm itself reads the chart; test/manifests/chart.test.ts shows more environments, without it.

let missing = '';
const helm = buildGoTool({ name: 'helm', folder: import.meta.dirname, module: 'helm.sh/helm/v4/cmd/helm' }, reason => {
  missing = reason;
});
if (helm === undefined && process.env.CI) throw new Error(missing);
if (helm === undefined) process.stderr.write(`\n${missing}\n`);

const OF_ONE_SEED = 36;
const prod = pushed(ENVIRONMENTS.prod);

interface Identified {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}
const byName = (objects: readonly Identified[]) =>
  Object.fromEntries(objects.map(each => [[each.kind, each.metadata.namespace, each.metadata.name].join(' '), each]));
const rendered = (env: Environment) =>
  byName(
    [...renderObjects(env)]
      .filter(([file]) => isOfTheChart(file))
      .map(([, object]) => JSON.parse(JSON.stringify(object))),
  );

describe.skipIf(helm === undefined)('with Helm (built from its Go module)', () => {
  let folder = '';
  beforeAll(async () => {
    folder = await newFolder();
    for (const [path, text] of chartFiles('1.2.3')) {
      const file = join(folder, 'chart', path);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, text);
    }
  });

  async function runHelm(args: string[], values: unknown) {
    const file = join(folder, 'values.json');
    await writeFile(file, JSON.stringify(values));
    return run(helm ?? '', [...args, join(folder, 'chart'), '--values', file]);
  }
  async function templated(values: unknown) {
    const { code, stdout, stderr } = await runHelm(['template', 'browsers'], values);
    expect([code, stderr]).toEqual([0, '']);
    return byName(
      parseAllDocuments(stdout)
        .map(each => each.toJS() as Identified | null)
        .filter(each => each !== null),
    );
  }

  test('lint finds no fault', async () => {
    const { code, stdout } = await runHelm(['lint', '--strict'], valuesOf(prod));
    expect(stdout).toContain('1 chart(s) linted, 0 chart(s) failed');
    expect(code).toBe(0);
  });

  test.each(Object.values(ENVIRONMENTS))('renders the objects of $name, each equal', async env => {
    expect(await templated(valuesOf(pushed(env)))).toEqual(rendered(pushed(env)));
  });

  test('renders the objects of environments that choose at random, each equal', async () => {
    for (const env of fc.sample(anyEnvironment, { numRuns: 25, seed: OF_ONE_SEED }))
      expect(await templated(valuesOf(env)), JSON.stringify(env)).toEqual(rendered(env));
  });

  test('further settings reach the ConfigMap, and roll the pods', async () => {
    const env = { ...prod, settings: { controller: { OMICRON_ON_USER_LIMIT: 'evict_oldest' } } };
    const objects = await templated(valuesOf(env));
    expect(objects).toEqual(rendered(env));
    expect(JSON.stringify(objects)).toContain('evict_oldest');
  });

  test.each([
    ['a capacity of nothing', { limits: { ...prod.limits, capacity: 0 } }, "/limits/capacity': minimum: got 0, want 1"],
    [
      'a capacity past the largest',
      { limits: { ...prod.limits, capacity: 100_001 } },
      "/limits/capacity': maximum: got 100,001, want 100,000",
    ],
    [
      'a collector whose endpoint is no URL',
      { collector: { endpoint: 'collector:4318', to: [], ports: [4318] } },
      "/collector/endpoint': 'collector:4318' does not match pattern '^https?:",
    ],
    [
      'a quantity without a unit',
      { runner: { ...prod.runner, browser: { ...prod.runner.browser, memory: ['2', '4'] } } },
      '/runner/browser/memory/0',
    ],
    ['a range that is no range', { ownCidrs: ['10.0.0.0'] }, '/ownCidrs/0'],
    ['an image that was not pushed', { images: { ...prod.images, runner: '' } }, '/images/runner'],
    ['a name with a typing error', { replica: { controller: 3 } }, "'replica'"],
    [
      'a setting that the manifests decide',
      { settings: { controller: { OMICRON_CAPACITY: '5' } } },
      "'OMICRON_CAPACITY'",
    ],
    [
      'a secret among the settings',
      { settings: { controller: { OMICRON_DATABASE_URL: 'postgres://a' } } },
      "'OMICRON_DATABASE_URL'",
    ],
    ['a quote that would end the text', { images: { ...prod.images, runner: 'a" b' } }, '/images/runner'],
  ])('refuses %s, and names it', async (_, change, place) => {
    const { code, stdout, stderr } = await runHelm(['template', 'browsers'], { ...Object(valuesOf(prod)), ...change });
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain(place);
  });
});
