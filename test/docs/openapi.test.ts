import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { openApiDocument } from '../../controller/openapi.ts';

it('docs/openapi.json is what the controller serves; `npm run openapi` writes it', async () => {
  const committed: unknown = JSON.parse(await readFile(new URL('../../docs/openapi.json', import.meta.url), 'utf8'));
  expect(committed).toEqual(JSON.parse(JSON.stringify(await openApiDocument())));
});
