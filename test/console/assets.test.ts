import { readdir, readFile } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { appPage, COPIED, consoleAssets } from '../../console/build.ts';

const GZIP_BYTES_MAX = 150_000;

const read = (name: string) => readFile(`console/assets/${name}`, 'utf8');

it('the committed pages are what "npm run console" writes', async () => {
  const built = new Map(await consoleAssets());
  for (const name of COPIED) built.set(name, await readFile(`console/web/${name}`, 'utf8'));
  expect((await readdir('console/assets')).sort()).toEqual([...built.keys()].sort());
  for (const [name, content] of built) expect(await read(name), name).toBe(content);
  expect(await readFile('contract/mcp-app.json', 'utf8')).toBe(await appPage());
});

it('all that a browser loads is at most 150 kB, compressed', async () => {
  const files = await Promise.all((await readdir('console/assets')).map(read));
  const bytes = files.reduce((sum, content) => sum + gzipSync(content).length, 0);
  expect(bytes).toBeLessThan(GZIP_BYTES_MAX);
});
