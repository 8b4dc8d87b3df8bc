import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { type RunnerHealth, runnerHealth } from '../../contract/assignment.ts';
import { ENV, RUNNER_COMMAND } from '../../contract/names.ts';
import { eventually } from '../eventually.ts';
import type { FakeController } from '../fakes/controller.ts';
import { watchRunnerLog } from './runner-logs.ts';

/** A real runner process. */
export interface RunnerProcess {
  readonly runnerId: string;
  readonly bootId: string;
  readonly url: string;
  readonly outputDir: string;
  readonly child: ChildProcess;
  /** Everything it wrote. */
  output(): string;
  health(): Promise<{ status: number; body: RunnerHealth }>;
  post(path: string, body: unknown): Promise<Response>;
  browserPid(): number;
  /** Resolves with the exit code. */
  readonly exited: Promise<number | null>;
  /** Ends it if it still runs, and deletes its folders. */
  dispose(): Promise<void>;
}

/** Starts a runner, of this clone or of the one at `cwd`, and waits until it is warm (or failed, on request). */
export async function startRunner(
  controller: Pick<FakeController, 'url' | 'jwks'>,
  env: Record<string, string> = {},
  wanted: RunnerHealth['phase'] = 'warm',
  cwd?: string,
): Promise<RunnerProcess> {
  const runnerId = randomUUID();
  const folder = mkdtempSync(join(tmpdir(), 'omicron-test-'));
  const outputDir = join(folder, 'output');
  const portFile = join(folder, 'port');
  const child = spawn(process.execPath, [...RUNNER_COMMAND.flags, RUNNER_COMMAND.main], {
    stdio: ['ignore', 'pipe', 'pipe'],
    cwd,
    env: {
      PATH: process.env.PATH,
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
      ...RUNNER_COMMAND.env,
      [ENV.runnerId]: runnerId,
      [ENV.controllerUrl]: controller.url,
      [ENV.controllerJwks]: controller.jwks,
      [ENV.runnerPort]: '0',
      [ENV.portFile]: portFile,
      [ENV.outputDir]: outputDir,
      [ENV.logLevel]: 'debug',
      ...env,
    },
  });
  let output = '';
  watchRunnerLog(runnerId, () => output);
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  const exited = once(child, 'close').then(([code]) => code as number | null); // documented arguments of the event
  const read = (path: string) => {
    try {
      return readFileSync(path, 'utf8');
    } catch {
      return undefined;
    }
  };
  const port = await Promise.race([
    eventually('a port from the runner', () => read(portFile), 60_000),
    exited.then(code => {
      throw new Error(`the runner exited with ${code}: ${output}`);
    }),
  ]).catch((error: unknown) => {
    child.kill('SIGKILL');
    throw error;
  });
  const url = `http://127.0.0.1:${port}`;
  const health = async () => {
    const response = await fetch(`${url}/healthz`);
    return { status: response.status, body: runnerHealth.parse(await response.json()) };
  };
  const { body: reached } = await eventually(
    `phase ${wanted}`,
    async () => {
      const answer = await health();
      return [wanted, 'failed'].includes(answer.body.phase) && answer;
    },
    60_000,
  );
  if (reached.phase !== wanted) throw new Error(JSON.stringify(reached));
  return {
    runnerId,
    bootId: reached.boot_id,
    url,
    outputDir,
    child,
    exited,
    health,
    output: () => output,
    post: (path, body) =>
      fetch(`${url}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
    browserPid: () => Number(read(join(tmpdir(), `omicron-runner-${runnerId}`, 'browser.pid'))),
    async dispose() {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
      await exited;
      rmSync(folder, { recursive: true, force: true });
      rmSync(join(tmpdir(), `omicron-runner-${runnerId}`), { recursive: true, force: true });
    },
  };
}

/** An MCP client of a lease. */
export async function connect(url: string, token: string): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' }, { capabilities: { roots: { listChanged: true } } });
  const transport = new StreamableHTTPClientTransport(new URL(`${url}/mcp`), {
    requestInit: { headers: { authorization: `Bearer ${token}` } },
  });
  // The SDK's transport type differs from its interface in optional members only.
  await client.connect(transport as Parameters<Client['connect']>[0]);
  return client;
}

/** Text of a tool's result. */
export async function callText(client: Client, name: string, args: Record<string, unknown> = {}): Promise<string> {
  const result = await client.callTool({ name, arguments: args });
  const content = result.content as { type: string; text?: string }[]; // the tool-result shape of the protocol
  return content.map(part => part.text ?? '').join('\n');
}
