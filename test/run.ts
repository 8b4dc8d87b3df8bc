import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { chooseProjects } from './setup/choose-projects.ts';

// `npm test` and `npm run test:all`: vitest with the projects of each; other arguments are vitest's own.

const root = new URL('..', import.meta.url);
const vitest = fileURLToPath(new URL('node_modules/vitest/vitest.mjs', root));
const child = spawn(process.execPath, [vitest, 'run', ...chooseProjects(process.argv.slice(2))], {
  stdio: 'inherit',
  // Hundreds of processes of Node.js start with the same code: one compiles it for all.
  env: { NODE_COMPILE_CACHE: fileURLToPath(new URL('.omicron/compile-cache', root)), ...process.env },
});
// Ctrl-C in a terminal reaches vitest directly; it decides when to exit
process.on('SIGINT', () => {});
process.on('SIGTERM', () => child.kill('SIGTERM'));
child.on('exit', code => {
  process.exitCode = code ?? 1;
});
