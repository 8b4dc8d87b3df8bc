import { existsSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const ROOT = new URL('../../', import.meta.url);
const page = readFileSync(new URL('docs/threat-model.md', ROOT), 'utf8');

/** A line of a table, its heading and the rule below that left out. */
const lines = page
  .split('\n')
  .filter(line => line.startsWith('| ') && !line.startsWith('| attack'))
  .map(line => line.split('|').map(cell => cell.trim()));

it('has lines', () => {
  expect(lines.length).toBeGreaterThan(20);
});

it.each(lines.map(cells => [cells[1] ?? '', cells] as const))('names an existing test: %s', (_attack, cells) => {
  expect(cells).toHaveLength(6);
  const [, file = '', title = ''] = /^`(test\/[^`]+\.ts)`: "(.+)"$/.exec(cells[4] ?? '') ?? [];
  expect(existsSync(new URL(file, ROOT)), `${file} exists`).toBe(true);
  // A title in quotes of either kind has its apostrophes escaped or not.
  const source = readFileSync(new URL(file, ROOT), 'utf8').replaceAll("\\'", "'");
  expect(source).toContain(title);
});
