import { access, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';

/** As links of the repository's own host, which PyPI needs whole. */
const REPOSITORY = 'https://github.com/example/omicron-browser/blob/main/';

it.each(['client/README.md', 'cli/README.md', 'clients/python/README.md'])('%s leads to pages of docs/', async path => {
  const links = [...(await readFile(path, 'utf8')).matchAll(/\]\(([^)#]+)/g)].map(([, link = '']) =>
    link.startsWith(REPOSITORY) ? link.slice(REPOSITORY.length) : join(dirname(path), link),
  );
  expect(links).toContain('docs/README.md');
  for (const link of links) await access(link);
});
