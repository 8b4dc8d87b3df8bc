// Makes what is published: Node runs no TypeScript inside node_modules, so dist/ holds the same files as JavaScript with
// declarations. A clone needs none of this.
import { execFileSync } from 'node:child_process';
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
/** Read at run time: SQL, and scripts that run in pages. */
const beside = [join('controller', 'store', 'migrations'), join('runner', 'tools')];

rmSync(join(root, 'dist'), { recursive: true, force: true });
execFileSync('tsc', ['-p', 'tsconfig.build.json'], { cwd: root, stdio: 'inherit' });
for (const folder of beside)
  cpSync(join(root, folder), join(root, 'dist', folder), { recursive: true, filter: path => !path.endsWith('.ts') });
