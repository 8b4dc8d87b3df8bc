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

/** Places of properties and parameters without a description; a reference may have that of its schema. */
function undescribed(part: unknown, schemas: Record<string, unknown>, place = ''): string[] {
  if (typeof part !== 'object' || part === null) return [];
  const isDescribed = (each: unknown): boolean => {
    const { description, $ref } = each as { description?: string; $ref?: string };
    return description !== undefined || ($ref !== undefined && isDescribed(schemas[$ref.replace(/^.*\//, '')]));
  };
  const missing = (each: unknown, name: string) => (isDescribed(each) ? [] : [`${place}/${name}`]);
  const { properties = {}, parameters = [] } = part as { properties?: object; parameters?: { name: string }[] };
  return [
    ...Object.entries(properties).flatMap(([name, each]) => missing(each, name)),
    ...parameters.flatMap(each => missing(each, each.name)),
    ...Object.entries(part).flatMap(([name, each]) => undescribed(each, schemas, `${place}/${name}`)),
  ];
}

it('every property and parameter has a description', async () => {
  const document = JSON.parse(JSON.stringify(await openApiDocument()));
  expect(undescribed(document, document.components.schemas)).toEqual([]);
});

it('every operation has a tag', async () => {
  const document = JSON.parse(JSON.stringify(await openApiDocument()));
  const paths: Record<string, Record<string, { tags?: string[] }>> = document.paths;
  const operations = Object.values(paths).flatMap(path => Object.values(path));
  expect(operations.filter(({ tags = [] }) => tags.length === 0)).toEqual([]);
});
