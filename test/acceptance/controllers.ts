import { type ChildProcess, spawn } from 'node:child_process';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { onTestFinished } from 'vitest';
import { ENV } from '../../contract/names.ts';
import type { Artifact, LeaseAnswer, Session, SessionEvent } from '../../contract/session.ts';
import { serviceKey, signServiceToken } from '../../contract/tokens.ts';
import { eventually } from '../eventually.ts';
import { runnerPid } from '../local/machine.ts';
import { migratedDatabaseUrl } from '../postgres.ts';
import { prodSettings } from './prod-settings.ts';

const MAIN = fileURLToPath(new URL('../../controller/main.ts', import.meta.url));

/** An answer of the controller: its status, headers and body. */
export interface Answer<T> {
  status: number;
  headers: Headers;
  body: T;
}

/** One deployment with the settings of prod: a database, a data folder, keys, and any number of controller processes. */
export interface Deployment {
  dataDir: string;
  /** Starts one more controller process; resolves when it listens. */
  controller(settings?: Record<string, string>): Promise<ControllerProcess>;
  call<T>(at: ControllerProcess, method: string, path: string, body?: unknown): Promise<Answer<T>>;
  /** The log of every controller process so far. */
  log(): string;
  /** Kills its controllers and runners, and deletes its data folder. */
  dispose(): Promise<void>;
}

export interface ControllerProcess {
  url: string;
  child: ChildProcess;
  /** Ends it and resolves when it has ended. */
  end(signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null>;
}

/** Runs at the end of a test. Tests that run side by side give their own, since the global one may be that of another. */
export type AtEnd = (end: () => Promise<void>) => void;

/** A deployment of one test, disposed of with it. */
export async function deployment(atEnd: AtEnd = onTestFinished): Promise<Deployment> {
  const started = await startDeployment();
  atEnd(started.dispose);
  return started;
}

export async function startDeployment(): Promise<Deployment> {
  const databaseUrl = await migratedDatabaseUrl();
  const dataDir = await mkdtemp(join(tmpdir(), 'omicron-test-'));
  const secret = randomBytes(32).toString('hex');
  const environment = {
    ...(await prodSettings()),
    PATH: process.env.PATH,
    HOME: process.env.HOME,
    NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
    [ENV.databaseUrl]: databaseUrl,
    [ENV.serviceSecret]: secret,
    [ENV.egressSecret]: randomBytes(32).toString('hex'),
    [ENV.signingKey]: JSON.stringify(generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' })),
    [ENV.derivationKey]: randomBytes(32).toString('base64'),
    OMICRON_DATA_DIR: dataDir,
    OMICRON_HOST: '127.0.0.1',
    OMICRON_PORT: '0',
    OMICRON_SECRET_STORE: 'file',
    OMICRON_SECRET_FILE_KEY: randomBytes(32).toString('base64'),
    OMICRON_POOL_IDLE: '1', // prod's pool takes more than a machine of two cores, and so does one that grows with the demand
    OMICRON_POOL_IDLE_MAX: undefined,
  };
  const processes: ControllerProcess[] = [];
  const lines: string[] = [];

  return {
    dataDir,
    async controller(settings = {}) {
      const child = spawn(process.execPath, [MAIN], {
        env: { ...environment, ...settings },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      const ended = new Promise<number | null>(resolve => child.once('exit', resolve));
      child.stderr.on('data', chunk => lines.push(String(chunk)));
      const url = await new Promise<string>((resolve, reject) => {
        createInterface({ input: child.stdout }).on('line', line => {
          lines.push(line);
          if (line.includes('"controller listening"')) resolve(JSON.parse(line).url);
        });
        ended.then(code => reject(new Error(`the controller ended with ${code}:\n${lines.slice(-10).join('\n')}`)));
      });
      const started: ControllerProcess = {
        url,
        child,
        async end(signal) {
          child.kill(signal);
          return ended;
        },
      };
      processes.push(started);
      return started;
    },
    async call<T>(at: ControllerProcess, method: string, path: string, body?: unknown) {
      const response = await fetch(at.url + path, {
        method,
        headers: {
          authorization: `Bearer ${await signServiceToken(serviceKey(secret))}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      return { status: response.status, headers: response.headers, body: (text ? JSON.parse(text) : null) as T };
    },
    log: () => lines.join('\n'),
    async dispose() {
      await Promise.all(processes.map(each => each.end('SIGKILL')));
      for (const runnerId of await readdir(join(dataDir, 'runners')).catch(() => [])) {
        const pid = await runnerPid(dataDir, runnerId).catch(() => null);
        if (pid !== null && alive(pid)) process.kill(pid, 'SIGKILL');
      }
      await rm(dataDir, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

export function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

export const SESSIONS = '/internal/browser-sessions';

/** A lease may be `starting` this long, on a machine that has other work. */
const STARTING_MS = 120_000;

/** Leases, asking again while the answer is `starting`, and expects `ready`. */
export async function lease(
  deployed: Deployment,
  at: ControllerProcess,
  request: Record<string, unknown>,
): Promise<LeaseAnswer & { mcp_url: string; mcp_headers: Record<string, string> }> {
  const ask = () => deployed.call<LeaseAnswer>(at, 'POST', `${SESSIONS}/get-or-create`, request);
  const deadline = performance.now() + STARTING_MS;
  let answer = await ask();
  while (answer.status === 202 && performance.now() < deadline) answer = await ask();
  const { mcp_url, mcp_headers } = answer.body;
  if (answer.status !== 200 || !mcp_url || !mcp_headers)
    throw new Error(
      `expected a lease, got ${answer.status} ${JSON.stringify(answer.body)}\n${deployed.log().slice(-3000)}`,
    );
  return { ...answer.body, mcp_url, mcp_headers };
}

/** An MCP client of a lease; closed with the test. */
export async function connect(
  leased: { mcp_url: string; mcp_headers: Record<string, string> },
  atEnd: AtEnd = onTestFinished,
): Promise<Client> {
  const client = new Client({ name: 'acceptance', version: '1' });
  await client.connect(
    new StreamableHTTPClientTransport(new URL(leased.mcp_url), { requestInit: { headers: leased.mcp_headers } }),
  );
  atEnd(() => client.close());
  return client;
}

/** The text of one tool call; throws when the tool says that it failed. */
export async function use(client: Client, name: string, args: Record<string, unknown> = {}): Promise<string> {
  const result = await client.callTool({ name, arguments: args });
  const parts = result.content as { type: string; text?: string }[];
  const text = parts.map(part => part.text ?? `[${part.type}]`).join('\n');
  if (result.isError) throw new Error(`${name}: ${text}`);
  return text;
}

export const show = async (deployed: Deployment, at: ControllerProcess, id: string): Promise<Session> =>
  (await deployed.call<Session>(at, 'GET', `${SESSIONS}/${id}`)).body;

export const events = async (deployed: Deployment, at: ControllerProcess, id: string): Promise<SessionEvent[]> =>
  (await deployed.call<{ events: SessionEvent[] }>(at, 'GET', `${SESSIONS}/${id}/events`)).body.events;

/** Waits until the runner of an ended lease is gone, and answers its recordings. */
export async function recordings(deployed: Deployment, at: ControllerProcess, id: string): Promise<Artifact[]> {
  await eventually(
    'the runner to be gone',
    async () => (await events(deployed, at, id)).some(event => event.kind === 'runner.gone'),
    30_000,
  );
  const { body } = await deployed.call<{ artifacts: Artifact[] }>(at, 'GET', `${SESSIONS}/${id}/artifacts`);
  return body.artifacts.filter(({ kind }) => kind === 'video');
}
