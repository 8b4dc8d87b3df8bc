import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { TOOL_CODES } from '../../contract/tool-codes.ts';

it('docs/tools.md lists every code of a tool, and when it is answered, as the table of codes has it', async () => {
  const page = await readFile(new URL('../../docs/tools.md', import.meta.url), 'utf8');
  const [, refusals = ''] = page.split('\n## Refusals\n');
  const rows = [...(refusals.split('\n## ')[0] ?? '').matchAll(/^\| `(\w+)` \| (.+) \|$/gm)];
  expect(Object.fromEntries(rows.map(([, code, when]) => [code, when]))).toEqual(TOOL_CODES);
});
