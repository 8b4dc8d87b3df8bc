import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { STACK_OUTPUTS } from '../../contract/names.ts';
import { stackConfig, stackValues } from './capture.ts';

const read = (page: string) => readFileSync(new URL(`../../docs/${page}.md`, import.meta.url), 'utf8');
const text = read('operations');
const sizing = read('sizing');

const rows = sizing
  .split('\n')
  .filter(line => /^\| .*\d \|$|\*\* \|$/.test(line))
  .map(line => {
    const [name = '', ...cells] = line
      .split('|')
      .slice(1, -1)
      .map(cell => cell.replaceAll('*', '').trim());
    return { name, cells: cells.map(Number) };
  })
  .filter(({ cells }) => cells.length === 4 && cells.every(Number.isFinite));

test('the columns of the cost table add up to their sums', () => {
  const sums = rows.find(({ name }) => name === 'Sum')?.cells;
  const parts = rows.filter(({ name }) => name !== 'Sum');
  expect(parts.length).toBeGreaterThan(8);
  expect([0, 1, 2, 3].map(column => parts.reduce((sum, { cells }) => sum + (cells[column] ?? 0), 0))).toEqual(sums);
});

test('the cost table speaks of the nodes that the stacks have', () => {
  for (const env of ['dev', 'prod']) {
    const config = stackConfig(env);
    for (const type of [config.systemNodes.instanceTypes[0], config.browserNodes.instanceTypes[0]]) {
      expect(sizing).toContain(String(type));
    }
  }
});

test('every output and every key that the page names exists', () => {
  const outputs = [...text.matchAll(/pulumi stack output (\w+)/g)].map(([, name]) => String(name));
  expect(outputs.length).toBeGreaterThan(2);
  for (const name of outputs) expect(STACK_OUTPUTS).toContain(name);
  const keys = [...text.matchAll(/`(network|cluster|artifacts|gitops|browserNodes)\.(\w+)`/g)];
  expect(keys.length).toBeGreaterThan(3);
  for (const [, key, inner] of keys) {
    expect(JSON.parse(stackValues('prod')[`omicron-browser:${key}`] ?? '{}')).toHaveProperty(String(inner));
  }
});
