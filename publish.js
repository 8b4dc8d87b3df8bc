// Runs in a workspace's folder before npm packs it (`prepack`) and after (`postpack`, with `clean`). Node.js runs no TypeScript
// inside node_modules, so a published package holds JavaScript: what its tsconfig.build.json names, and all that those import.
import { execFileSync } from 'node:child_process';
import { copyFileSync, cpSync, existsSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Read at run time: SQL, scripts that run in pages, and the pages of the console. */
const ASSETS = [
  join('console', 'assets'),
  join('controller', 'store'),
  join('runner', 'secrecy'),
  join('runner', 'settle'),
  join('runner', 'tools'),
];
/** All that this adds to the folder. */
const ADDED = ['dist', 'LICENSE'];

const root = import.meta.dirname;

for (const name of ADDED) rmSync(name, { recursive: true, force: true });
if (process.argv[2] !== 'clean') {
  // a clone that has only run the stack has no compiler
  execFileSync(process.execPath, [join(root, 'local', 'setup.js'), '--for', 'check'], { stdio: 'inherit' });
  execFileSync(join(root, 'node_modules', '.bin', 'tsc'), ['-p', 'tsconfig.build.json'], { stdio: 'inherit' });
  for (const folder of ASSETS)
    if (existsSync(join('dist', dirname(folder))))
      cpSync(join(root, folder), join('dist', folder), { recursive: true, filter: path => !path.endsWith('.ts') });
  copyFileSync(join(root, 'LICENSE'), 'LICENSE');
}
