// What npm runs before it packs a workspace (`prepack`), in its folder. Node runs no TypeScript inside node_modules, so the
// published package holds JavaScript with declarations: what its tsconfig.build.json names, and all that those files import.
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/** Read at run time: SQL, and scripts that run in pages. */
const ASSETS = [join('controller', 'store', 'migrations'), join('runner', 'tools')];

const root = import.meta.dirname;
const dist = join(process.cwd(), 'dist');

rmSync(dist, { recursive: true, force: true });
execFileSync(join(root, 'node_modules', '.bin', 'tsc'), ['-p', 'tsconfig.build.json'], { stdio: 'inherit' });
for (const folder of ASSETS)
  if (existsSync(join(dist, folder)))
    cpSync(join(root, folder), join(dist, folder), { recursive: true, filter: path => !path.endsWith('.ts') });
