import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { pino } from 'pino';
import { ENV } from '../../contract/names.ts';
import { type Controller, startController } from '../../controller/compose.ts';
import type { Database } from '../../controller/ports/database.ts';
import { parseControllerSettings } from '../../controller/settings.ts';
import { pgliteDatabase } from '../../controller/store/pglite.ts';
import { postgresDatabase } from '../../controller/store/postgres.ts';
import { stackEnvironment } from '../../local/stack-environment.ts';

// A controller in a process of its own that records the duration of each database function. `node timed-stack.ts` is that
// process; `timedStack()` starts it.

/** One call of a database function; times are the process's monotonic milliseconds. */
export interface SqlCall {
  name: string;
  atMs: number;
  ms: number;
}

export interface TimedStack {
  url: string;
  pid: number;
  /** Calls since the previous `sqlCalls()`. */
  sqlCalls(): Promise<SqlCall[]>;
  /** Ends every lease and waits until everything has stopped. */
  stop(): Promise<void>;
}

/** `databaseUrl` null: PGlite in the folder. */
export async function timedStack(
  folder: string,
  databaseUrl: string | null,
  environment: Record<string, string>,
): Promise<TimedStack> {
  const child = fork(import.meta.filename, [folder, databaseUrl ?? ''], {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const { url } = await answer<{ url: string }>(child);
  const ask = async <T>(question: string): Promise<T> => {
    const answered = answer<T>(child);
    child.send(question);
    return answered;
  };
  return {
    url,
    pid: child.pid ?? 0,
    sqlCalls: () => ask<SqlCall[]>('calls'),
    async stop() {
      const ended = once(child, 'exit');
      child.send('stop');
      await ended;
    },
  };
}

async function answer<T>(child: ChildProcess): Promise<T> {
  const stop = new AbortController();
  const died = once(child, 'exit', { signal: stop.signal }).then(([code]) => {
    throw new Error(`the controller's process exited with ${code}`);
  });
  try {
    const [message] = await Promise.race([once(child, 'message', { signal: stop.signal }), died]);
    return message as T; // our own process's answer
  } finally {
    stop.abort();
    died.catch(() => {});
  }
}

function timed(database: Database, calls: SqlCall[]): Database {
  return {
    ...database,
    async query<Row extends object>(sql: string, parameters: readonly unknown[] = []) {
      const atMs = performance.now();
      try {
        return await database.query<Row>(sql, parameters);
      } finally {
        calls.push({ name: /omicron\.(\w+)\s*\(/.exec(sql)?.[1] ?? 'read', atMs, ms: performance.now() - atMs });
      }
    },
  };
}

if (import.meta.main) {
  const [folder = '', databaseUrl = ''] = process.argv.slice(2);
  const log = pino({ level: 'warn' });
  const calls: SqlCall[] = [];
  const settings = parseControllerSettings({
    ...process.env,
    [ENV.controllerHost]: '127.0.0.1',
    [ENV.controllerPort]: '0',
    [ENV.dataDir]: folder,
    [ENV.secretStore]: 'file',
    [ENV.databaseUrl]: databaseUrl || 'postgres://pglite',
  });
  const database = databaseUrl
    ? postgresDatabase({
        url: databaseUrl,
        tls: settings.databaseTls,
        ca: settings.databaseCa,
        connectionsMax: settings.databaseConnections,
        log,
      })
    : await pgliteDatabase(join(folder, 'db'));
  const { runnerEnv } = stackEnvironment(process.env);
  const controller: Controller = await startController({
    settings,
    database: timed(database, calls),
    log,
    runnerEnv,
  });
  process.on('message', async question => {
    if (question === 'calls') process.send?.(calls.splice(0));
    if (question === 'stop') {
      await controller.shutdown();
      await database.close();
      process.exit(0);
    }
  });
  process.send?.({ url: controller.url });
}
