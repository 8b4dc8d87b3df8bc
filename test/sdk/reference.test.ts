import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { typescriptPage } from '../docs/references/sdk-typescript.ts';

it('docs/reference/sdk-typescript.md is what TypeDoc reads in client/; `npm run docs` writes it', {
  timeout: 180_000,
}, async () => {
  const page = typescriptPage();
  expect(await readFile('docs/reference/sdk-typescript.md', 'utf8')).toBe(page);
  expect(page).toContain('MCP endpoint of the lease, without its token'); // from the schema
});
