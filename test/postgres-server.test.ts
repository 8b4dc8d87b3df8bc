import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';

test('a run that used Postgres keeps its exit code: a failed test fails the command', async () => {
  const module = JSON.stringify(new URL('./postgres-server.ts', import.meta.url).href);
  const script = `const { startPostgresServer } = await import(${module});
    await (await startPostgresServer()).stop();
    process.exitCode = 3;`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: 'ignore' });
  expect((await once(child, 'exit'))[0]).toBe(3);
});
