import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { CallToolResultSchema } from '@modelcontextprotocol/sdk/types.js';
import type { BrowserSessions } from '../../client/browser-sessions.ts';
import { type Percentiles, percentiles } from './figures.ts';

/** Milliseconds of one acquire, connect, goto, release; the stages are BrowserArena's. */
export interface Round {
  /** Getting the browser's address; a spawned server has none. */
  acquireMs: number;
  /** Until MCP's initialize is answered. For a spawned server: from the spawn. */
  connectMs: number;
  gotoMs: number;
  releaseMs: number;
  /** Acquire, connect and goto together. */
  firstPageMs: number;
}

export type Stages = Record<keyof Round, Percentiles>;

export interface Contender {
  /** Waits until the next rounds can begin; not timed. */
  prepare(clients: number): Promise<void>;
  round(url: string): Promise<Round>;
}

/** `rounds` rounds, `clients` at a time. */
export async function measure(
  contender: Contender,
  { rounds, clients, url }: { rounds: number; clients: number; url: string },
): Promise<Stages> {
  const all: Round[] = [];
  while (all.length < rounds) {
    const now = Math.min(clients, rounds - all.length);
    await contender.prepare(now);
    all.push(...(await Promise.all(Array.from({ length: now }, () => contender.round(url)))));
  }
  const stage = (name: keyof Round) => percentiles(all.map(round => round[name]));
  return {
    acquireMs: stage('acquireMs'),
    connectMs: stage('connectMs'),
    gotoMs: stage('gotoMs'),
    releaseMs: stage('releaseMs'),
    firstPageMs: stage('firstPageMs'),
  };
}

function stopwatch(): () => number {
  let lastMs = performance.now();
  return () => {
    const beforeMs = lastMs;
    lastMs = performance.now();
    return lastMs - beforeMs;
  };
}

async function goto(client: Client, url: string): Promise<void> {
  const result = CallToolResultSchema.parse(await client.callTool({ name: 'browser_navigate', arguments: { url } }));
  if (result.isError) throw new Error(JSON.stringify(result.content));
}

/** Makes names unique to this run. */
const run = randomUUID();
let conversations = 0;

/** Leases of a stack with a warm pool, without video, which the other contender does not record either. */
export function leased(sessions: BrowserSessions, warmRunners: () => Promise<number>, poolIdle: number): Contender {
  return {
    async prepare() {
      while ((await warmRunners()) < poolIdle) await new Promise(resolve => setTimeout(resolve, 50));
    },
    async round(url) {
      conversations += 1;
      const names = { userId: `bench-${run}-${conversations}`, conversationId: `bench-${conversations}` };
      const lap = stopwatch();
      const lease = await sessions.acquire({ ...names, recordVideo: false });
      const acquireMs = lap();
      const client = new Client({ name: 'bench', version: '1' });
      await client.connect(
        new StreamableHTTPClientTransport(new URL(lease.mcpUrl), { requestInit: { headers: { ...lease.headers } } }),
      );
      const connectMs = lap();
      await goto(client, url);
      const gotoMs = lap();
      await client.close();
      await lease.end();
      return { acquireMs, connectMs, gotoMs, releaseMs: lap(), firstPageMs: acquireMs + connectMs + gotoMs };
    },
  };
}

/** `npx @playwright/mcp`, as its README has it, or its program started by node, without npm's share. */
export type SpawnedBy = 'npx' | 'node';

/** The alternative: `@playwright/mcp` spawned for each session, with the same browser. */
export function spawned(browser: string, by: SpawnedBy): Contender {
  const cli = fileURLToPath(new URL('cli.js', import.meta.resolve('@playwright/mcp/package.json')));
  const root = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
  // it writes a snapshot of every page
  const output = ['--output-dir', join(tmpdir(), 'omicron-bench-spawned')];
  const options = ['--headless', '--isolated', '--executable-path', browser, ...output, ...root];
  const [command, args] =
    by === 'npx' ? ['npx', ['--no-install', '@playwright/mcp', ...options]] : [process.execPath, [cli, ...options]];
  return {
    prepare: async () => {},
    async round(url) {
      const lap = stopwatch();
      const client = new Client({ name: 'bench', version: '1' });
      await client.connect(new StdioClientTransport({ command, args, stderr: 'ignore' }));
      const connectMs = lap();
      await goto(client, url);
      const gotoMs = lap();
      await client.close();
      return { acquireMs: 0, connectMs, gotoMs, releaseMs: lap(), firstPageMs: connectMs + gotoMs };
    },
  };
}
