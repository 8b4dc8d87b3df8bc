import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { openApiDocument } from '../../controller/openapi.ts';

it('docs/openapi.json is what the controller serves; `npm run openapi` writes it', async () => {
  const committed: unknown = JSON.parse(await readFile(new URL('../../docs/openapi.json', import.meta.url), 'utf8'));
  expect(committed).toEqual(JSON.parse(JSON.stringify(await openApiDocument())));
});

it('docs/openapi.json has no schema that no route uses, and none twice', async () => {
  const document = JSON.parse(JSON.stringify(await openApiDocument()));
  const schemas: Record<string, { title?: string }> = document.components.schemas;
  const used = new Set(
    [...JSON.stringify(document).matchAll(/#\/components\/schemas\/(\w+)"/g)].map(([, name]) => name),
  );
  expect(Object.keys(schemas).filter(name => !used.has(name))).toEqual([]);
  const titles = Object.values(schemas).flatMap(({ title }) => title ?? []);
  expect(titles).toEqual([...new Set(titles)]);
  expect(Object.keys(schemas)).toContain('GetOrCreateRequest');
});
