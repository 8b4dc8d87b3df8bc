/** A whole controller in a process of its own, which may be killed at a statement. Its runners are elsewhere, as pods are. */
import { pino } from 'pino';
import { OmicronError } from '../../contract/problem.ts';
import { startController } from '../../controller/compose.ts';
import type { Database } from '../../controller/ports/database.ts';
import type { RunnerProvider } from '../../controller/ports/runners.ts';
import { parseControllerSettings } from '../../controller/settings.ts';
import { postgresDatabase } from '../../controller/store/postgres.ts';

/** Kills its process at a statement. `during`: it is sent, and may be carried out. */
export interface Failpoint {
  readonly statement: string;
  /** Statements of that kind until then; 0: the first. */
  readonly skip: number;
  readonly at: 'before' | 'during' | 'after';
}

export type ToController =
  | { kind: 'start'; environment: Record<string, unknown> }
  | { kind: 'arm'; failpoint: Failpoint }
  | { kind: 'changed'; runnerId: string }
  | { kind: 'answer'; id: number; value?: unknown; error?: { code: string; message: string } };

export type FromController =
  | { kind: 'jwks'; jwks: string }
  | { kind: 'listening'; url: string }
  | { kind: 'call'; id: number; method: string; args: unknown[] };

const send = (message: FromController) => process.send?.(message);
const die = () => process.kill(process.pid, 'SIGKILL');

let armed: (Failpoint & { left: number }) | undefined;
let onChange = (_runnerId: string) => {};
const calls = new Map<number, (message: Extract<ToController, { kind: 'answer' }>) => void>();

process.on('message', (message: ToController) => {
  if (message.kind === 'start') void run(message.environment);
  if (message.kind === 'arm') armed = { ...message.failpoint, left: message.failpoint.skip };
  if (message.kind === 'changed') onChange(message.runnerId);
  if (message.kind === 'answer') calls.get(message.id)?.(message);
});
process.on('disconnect', () => process.exit());

let sent = 0;
function ask<Answer>(method: string, ...args: unknown[]): Promise<Answer> {
  const id = ++sent;
  return new Promise((resolve, reject) => {
    calls.set(id, ({ value, error }) => {
      calls.delete(id);
      if (error === undefined) resolve(value as Answer);
      else reject(new OmicronError(error.code as 'runner_start_failed', error.message));
    });
    send({ kind: 'call', id, method, args });
  });
}

function killable(database: Database): Database {
  return {
    ...database,
    async query<Row extends object>(sql: string, parameters?: readonly unknown[]) {
      if (armed === undefined || !sql.includes(armed.statement) || armed.left-- > 0)
        return database.query<Row>(sql, parameters);
      if (armed.at === 'before') die();
      const answered = database.query<Row>(sql, parameters);
      if (armed.at === 'during') setImmediate(die);
      const rows = await answered;
      die();
      return rows;
    },
  };
}

async function run(environment: Record<string, unknown>): Promise<void> {
  const settings = parseControllerSettings(environment);
  const log = pino({ level: 'silent' });
  const database = killable(postgresDatabase({ url: settings.databaseUrl, connectionsMax: 5, log }));
  const { url } = await startController({
    settings,
    database,
    log,
    runnerEnv: {},
    provider: context => {
      onChange = context.onChange;
      send({ kind: 'jwks', jwks: context.jwks });
      return remoteProvider();
    },
  });
  send({ kind: 'listening', url });
}

const remoteProvider = (): RunnerProvider => ({
  name: 'local',
  capabilities: { holdsSiteRules: true, keepsBrowserFiles: true, launchesAtOnce: 8 },
  templateDigest: async () => 't1',
  create: id => ask('create', id),
  whenWarm: async (id, signal) => {
    const warm = ask<{ bootId: string; endpoint: string }>('whenWarm', id);
    const aborted = Promise.withResolvers<never>();
    signal.addEventListener('abort', () => aborted.reject(signal.reason));
    return Promise.race([warm, aborted.promise]);
  },
  deathOf: id => ask('deathOf', id),
  remove: id => ask('remove', id),
  addressOf: ({ endpoint }) => ({ mcpUrl: `${endpoint}/mcp`, workload: null }),
  markLeased: () => undefined,
  list: () => ask('list'),
});
