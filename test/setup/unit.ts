import childProcess from 'node:child_process';
import { syncBuiltinESMExports } from 'node:module';

// A unit test starts no process: no browser, no Postgres, no command.

for (const name of ['spawn', 'spawnSync', 'exec', 'execSync', 'execFile', 'execFileSync', 'fork'] as const)
  Object.assign(childProcess, {
    [name]: (program: string) => {
      throw new Error(`A unit test may not start ${program}: take the file out of UNIT in vitest.config.ts.`);
    },
  });
syncBuiltinESMExports();
