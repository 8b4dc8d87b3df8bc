import { generateKeyPairSync, randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { pino } from 'pino';
import { ENV } from '../../contract/names.ts';
import { OmicronError, type Problem, problemSchema } from '../../contract/problem.ts';
import { type GetOrCreateRequest, type LeaseAnswer, leaseAnswer } from '../../contract/session.ts';
import { serviceKey, signServiceToken } from '../../contract/tokens.ts';
import { startController } from '../../controller/compose.ts';
import type { Database } from '../../controller/ports/database.ts';
import { parseControllerSettings, type Settings } from '../../controller/settings.ts';
import { postgresPools } from '../../controller/store/postgres.ts';
import { type Clock, realClock } from '../../time/clock.ts';
import { type FakeMachine, fakeMachine } from '../fakes/runners.ts';
import { migratedDatabaseUrl } from '../postgres.ts';

/** Parts that a deployment shares between its replicas. */
export interface Deployment extends AsyncDisposable {
  environment: Record<string, unknown>;
  machine: FakeMachine;
  dataDir: string;
}

export interface Answer {
  status: number;
  headers: Headers;
  body: unknown;
}

export type Call = (
  method: string,
  path: string,
  options?: { body?: unknown; raw?: string; user?: string; token?: string | null; headers?: Record<string, string> },
) => Promise<Answer>;

/** Keys, database and machine of one deployment; give it to several `startStack` for several replicas. */
export async function deployment(overrides: Record<string, unknown> = {}): Promise<Deployment> {
  const dataDir = await mkdtemp(join(tmpdir(), 'omicron-controller-'));
  const machine = fakeMachine();
  return {
    dataDir,
    machine,
    async [Symbol.asyncDispose]() {
      machine.close();
      await rm(dataDir, { recursive: true, force: true });
    },
    environment: {
      OMICRON_HOST: '127.0.0.1',
      OMICRON_PORT: 0,
      OMICRON_DATA_DIR: dataDir,
      [ENV.databaseUrl]: overrides[ENV.databaseUrl] ?? (await migratedDatabaseUrl()),
      [ENV.serviceSecret]: randomBytes(32).toString('hex'),
      [ENV.egressSecret]: randomBytes(32).toString('hex'),
      [ENV.signingKey]: JSON.stringify(generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' })),
      [ENV.derivationKey]: randomBytes(32).toString('base64'),
      OMICRON_SECRET_STORE: 'file',
      OMICRON_SECRET_FILE_KEY: randomBytes(32).toString('base64'),
      OMICRON_REAP_SECONDS: 0.2,
      ...overrides,
    },
  };
}

export type Stack = Awaited<ReturnType<typeof startStack>>;

/**
 * A whole controller on Postgres, with runners that have no browser, or those of its settings with this environment. Ends with `await
 * using`.
 */
export async function startStack(
  overrides: Record<string, unknown> = {},
  shared?: Deployment,
  clock: Clock = realClock,
  runnerEnv?: Record<string, string>,
) {
  const deployed = shared ?? (await deployment(overrides));
  const settings: Settings = parseControllerSettings({ ...deployed.environment, ...overrides });
  const lines: string[] = [];
  const queries: string[] = [];
  let lost: string | undefined;
  const log = pino(
    { level: 'debug' },
    new Writable({
      write(chunk, _encoding, done) {
        lines.push(String(chunk));
        done();
      },
    }),
  );
  const { database, renewals } = postgresPools({
    url: settings.databaseUrl,
    connectionsMax: settings.databaseConnections,
    log,
  });
  const observed = (pool: Database): Database => ({
    ...pool,
    async query<Row extends object>(sql: string, parameters?: readonly unknown[]) {
      queries.push(sql);
      const rows = await pool.query<Row>(sql, parameters);
      if (lost === undefined || !sql.includes(lost)) return rows;
      lost = undefined;
      throw new OmicronError('store_unavailable', 'The answer to a commit was lost.');
    },
  });
  const controller = await startController({
    settings,
    database: observed(database),
    renewals: observed(renewals),
    log,
    clock,
    ...(runnerEnv === undefined ? { runnerEnv: {}, provider: deployed.machine.provider } : { runnerEnv }),
  });
  const key = serviceKey(settings.serviceSecret);

  const call: Call = async (method, path, { body, raw, user, token, headers } = {}) => {
    const bearer = token === undefined ? await signServiceToken(key, user) : token;
    const content = raw ?? (body === undefined ? undefined : JSON.stringify(body));
    const response = await fetch(`${controller.url}${path}`, {
      method,
      headers: {
        ...(bearer === null ? {} : { authorization: `Bearer ${bearer}` }),
        ...(content === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(content === undefined ? {} : { body: content }),
    });
    const text = await response.text();
    const json = response.headers.get('content-type')?.includes('json') ?? false;
    return { status: response.status, headers: response.headers, body: json ? JSON.parse(text) : text };
  };

  const getOrCreate = (change: Partial<GetOrCreateRequest> = {}) =>
    call('POST', '/internal/browser-sessions/get-or-create', {
      body: { user_id: 'ada', conversation_id: 'c1', ...change },
    });

  let stopped = false;
  return {
    ...deployed,
    settings,
    controller,
    database,
    serviceKey: key,
    url: controller.url,
    call,
    token: () => signServiceToken(key),
    getOrCreate,
    /** How many statements with this text the controller has sent. */
    queried: (text: string) => queries.filter(sql => sql.includes(text)).length,
    /** The next statement with this text is carried out, and its answer lost. */
    loseAnswer(text: string): void {
      lost = text;
    },
    /** Everything that was logged. */
    logged: () => lines.join(''),
    /** A ready lease, or what came instead as an error. */
    async lease(change: Partial<GetOrCreateRequest> = {}): Promise<LeaseAnswer> {
      const answer = await getOrCreate(change);
      if (answer.status !== 200)
        throw new Error(`expected a lease, got ${answer.status} ${JSON.stringify(answer.body)}`);
      return leaseAnswer.parse(answer.body);
    },
    /** Stops gracefully, as a rollout does; the machine and the database stay. */
    async stop(): Promise<void> {
      if (stopped) return;
      stopped = true;
      await controller.stop();
      await database.close();
    },
    async [Symbol.asyncDispose](): Promise<void> {
      await this.stop();
      if (!shared) await deployed[Symbol.asyncDispose]();
    },
  };
}

/** The problem document of an answer; throws when it is none. */
export const problemOf = (answer: Answer): Problem => problemSchema.parse(answer.body);

/** A user of their own, so that tests on one stack do not meet. */
export const someUser = (): string => `user-${randomUUID().slice(0, 8)}`;
