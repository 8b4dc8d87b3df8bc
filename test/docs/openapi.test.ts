import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { openApiDocuments, schemasIn } from './openapi-documents.ts';
import { EXAMPLES } from './openapi-examples.ts';

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

const DOCUMENTS = await openApiDocuments();

describe.each(DOCUMENTS)('%s', (path, document) => {
  const { schemas } = document.components;
  const operations = Object.values(document.paths).flatMap(methods => Object.values(methods));

  it('is what the routes give; `npm run openapi` writes it', async () => {
    expect(JSON.parse(await readFile(path, 'utf8'))).toEqual(document);
  });

  it('has no schema that no route uses, and none twice', () => {
    const used = schemasIn(document);
    expect(Object.keys(schemas).filter(name => !used.includes(name))).toEqual([]);
    const titles = Object.values(schemas).flatMap(({ title }) => title ?? []);
    expect(titles).toEqual([...new Set(titles)]);
  });

  it('describes every property and parameter', () => {
    expect(undescribed(document, schemas)).toEqual([]);
  });

  it('gives every operation a summary, a tag and a name of its own', () => {
    expect(operations.filter(({ summary, tags = [] }) => summary === undefined || tags.length === 0)).toEqual([]);
    expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(operations.length);
  });
});

it('the documents have every route once', () => {
  const routes = DOCUMENTS.map(([path, { paths }]) => [
    path,
    Object.values(paths).flatMap(methods => Object.keys(methods)).length,
  ]);
  expect(Object.fromEntries(routes)).toEqual({
    'docs/openapi.json': 53,
    'docs/internal-openapi.json': 23,
    'docs/runner-openapi.json': 12,
  });
});

describe('docs/openapi.json', () => {
  const document = DOCUMENTS.find(([path]) => path === 'docs/openapi.json')?.[1];
  if (document === undefined) throw new Error('no such document');
  const { components, paths } = document;

  it('has an example of every body that is sent or answered', () => {
    const bodies = new Set(schemasIn(paths));
    expect([...bodies].filter(name => EXAMPLES[name] === undefined)).toEqual([]);
    expect(bodies.size).toBeGreaterThan(30);
  });

  // test/controller/http/openapi.test.ts has a linter compare each with its schema
  it('shows every example', () => {
    for (const [name, example] of Object.entries(EXAMPLES))
      expect(components.schemas[name]?.examples).toEqual([example]);
  });
});
