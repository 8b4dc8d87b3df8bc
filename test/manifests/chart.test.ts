import fc from 'fast-check';
import { expect, test } from 'vitest';
import { chartFiles } from '../../manifests/chart/files.ts';
import { isOfTheChart, objectTemplates } from '../../manifests/chart/objects.ts';
import { valuesOf } from '../../manifests/chart/values.ts';
import type { Environment } from '../../manifests/environment-type.ts';
import { ENVIRONMENTS } from '../../manifests/environments.ts';
import { renderObjects } from '../../manifests/render.ts';
import { fillChart } from './fill-chart.ts';
import { pushed } from './pushed.ts';
import { anyEnvironment } from './random-environment.ts';

const templates = objectTemplates();
const files = chartFiles('1.2.3');

const rendered = (env: Environment) =>
  Object.fromEntries(
    [...renderObjects(env)]
      .filter(([file]) => isOfTheChart(file))
      .map(([file, object]) => [file, JSON.parse(JSON.stringify(object))]),
  );
const filled = (env: Environment) => Object.fromEntries(fillChart(templates, valuesOf(env)));

test.each(Object.values(ENVIRONMENTS))('the chart makes the objects of $name from its values', env => {
  expect(filled(pushed(env))).toEqual(rendered(pushed(env)));
});

test('the chart makes the objects of any environment, whatever it chooses at once', () => {
  fc.assert(
    fc.property(anyEnvironment, env => {
      expect(filled(env)).toEqual(rendered(env));
    }),
    { numRuns: 150 },
  );
});

test('no template holds a mark in place of a value', () => {
  for (const [path, text] of files) expect(text, path).not.toMatch(/zz-|203\.0\.113\.253|71\d{4}(m|Mi)?"/);
});

test('two runs make the same bytes in the same order', () => {
  expect([...chartFiles('1.2.3')]).toEqual([...files]);
});
