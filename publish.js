// Runs in a workspace's folder before npm packs it (`prepack`) and after (`postpack`, with `clean`). Node.js runs no TypeScript
// inside node_modules, so a published package holds JavaScript: what its tsconfig.build.json names, and all that those import.
import { execFileSync } from 'node:child_process';
import { copyFileSync, cpSync, readdirSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';

/** Read at run time: scripts that run in pages, SQL, and the pages of the console. */
const ASSETS = [/\.page\.js$/, /^controller\/.*\.sql$/, /^console\/assets\/(?!.*\.ts$)/];
/** All that this adds to the folder. */
const ADDED = ['dist', 'LICENSE'];

const root = import.meta.dirname;

for (const name of ADDED) rmSync(name, { recursive: true, force: true });
if (process.argv[2] !== 'clean') {
  // a clone that has only run the stack has no compiler
  execFileSync(process.execPath, [join(root, 'local', 'setup.js'), '--for', 'check'], { stdio: 'inherit' });
  execFileSync(join(root, 'node_modules', '.bin', 'tsc'), ['-p', 'tsconfig.build.json'], { stdio: 'inherit' });
  for (const room of readdirSync('dist', { withFileTypes: true }))
    if (room.isDirectory()) for (const file of assetsOf(room.name)) cpSync(join(root, file), join('dist', file));
  copyFileSync(join(root, 'LICENSE'), 'LICENSE');
}

/** Paths from the root. */
function assetsOf(room) {
  return readdirSync(join(root, room), { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => relative(root, join(entry.parentPath, entry.name)))
    .filter(file => !file.includes('node_modules') && ASSETS.some(asset => asset.test(file)));
}
