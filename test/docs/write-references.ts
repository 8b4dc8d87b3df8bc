import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { pythonOf } from '../../local/test-tools.ts';
import { references } from './references/all.ts';
import { typescriptPage } from './references/sdk-typescript.ts';

// `npm run docs`: writes the pages of docs/reference/ from the code.
mkdirSync('docs/reference', { recursive: true });
for (const [path, text] of await references()) writeFileSync(path, text);
writeFileSync('docs/reference/sdk-typescript.md', typescriptPage());
execFileSync(pythonOf('.', 'python_sdk'), ['clients/python/reference.py'], { stdio: 'inherit' });
