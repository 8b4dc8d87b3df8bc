// Makes what is published: Node runs no TypeScript inside node_modules, so dist/ holds the same files as JavaScript with
// declarations. A clone needs none of this.
import { execFileSync } from 'node:child_process';
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const migrations = join('controller', 'store', 'migrations');

rmSync(join(root, 'dist'), { recursive: true, force: true });
execFileSync('tsc', ['-p', 'tsconfig.build.json'], { cwd: root, stdio: 'inherit' });
cpSync(join(root, migrations), join(root, 'dist', migrations), { recursive: true });
