import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..', '..', '..');

const HEAD = `# TypeScript SDK: classes and types

<!-- Written from client/ by \`npm run docs\`. -->

Exports of the package \`omicron-browser\`. [client.md](../client.md) has the guide; fields of the API's documents are those of [openapi.json](../openapi.json).
`;

/** docs/reference/sdk-typescript.md, by TypeDoc. */
export function typescriptPage(): string {
  const out = mkdtempSync(join(tmpdir(), 'omicron-typedoc-'));
  try {
    const program = join(ROOT, 'node_modules', 'typedoc', 'bin', 'typedoc');
    const options = join(ROOT, 'test', 'docs', 'typedoc.json');
    execFileSync(process.execPath, [program, '--options', options, '--out', out], { cwd: ROOT, stdio: 'inherit' });
    const text = readFileSync(join(out, 'README.md'), 'utf8');
    // the type of a schema, whose fields follow
    const body = text.replaceAll(/^### Extends\n\n- `output`.*\n\n/gm, '').replaceAll(/[ \t]+$/gm, '');
    return `${HEAD}\n${body.trim()}\n`;
  } finally {
    rmSync(out, { recursive: true, force: true });
  }
}
