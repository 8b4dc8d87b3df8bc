import { rm } from 'node:fs/promises';
import { Writable } from 'node:stream';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { BrowserSessions } from '../../client/browser-sessions.ts';
import { connectMcpBrowser } from '../../local/mcp-browser.ts';
import { type Stack, startStack } from '../../local/stack.ts';
import { eventually } from '../eventually.ts';
import { migratedDatabaseUrl } from '../postgres.ts';
import { newFolder, shell } from './machine.ts';

let folder: string;
let stack: Stack;
const lines: string[] = [];
beforeAll(async () => {
  folder = await newFolder();
  const log = pino(
    { level: 'trace' },
    new Writable({
      write(chunk, _, done) {
        lines.push(String(chunk));
        done();
      },
    }),
  );
  stack = await startStack({
    folder,
    databaseUrl: await migratedDatabaseUrl(),
    log,
    egress: 'off',
    poolIdle: 1,
    runnerEnv: shell(),
  });
});
afterAll(async () => {
  await stack.stop();
  await rm(folder, { recursive: true, force: true });
});

it('[E4] an address alone opens the browser of a lease, says why once it has ended, and is in no log', async () => {
  const sessions = new BrowserSessions(stack);
  const lease = await sessions.acquire({ userId: 'ada', conversationId: 'url', recordVideo: false, mcpAuth: 'url' });
  const { mcpUrl } = lease;
  expect(lease.headers).toEqual({});
  const token = mcpUrl.split('/').at(-1) ?? '';
  expect(token.length).toBeGreaterThan(30);
  {
    await using browser = await connectMcpBrowser({ mcpUrl, headers: {} });
    expect(await browser.evaluate('() => 6 * 7')).toBe(42);
  }
  await expect(connectMcpBrowser({ mcpUrl: `${mcpUrl.slice(0, -1)}~`, headers: {} })).rejects.toThrow();
  // the SDK goes on with it, and with the headers that its heartbeat brings
  const connected = await lease.connect();
  await lease.heartbeat();
  expect((await connected.callTool('browser_tabs', { action: 'list' })).isError).toBe(false);
  await lease.end();
  await eventually('the answer of the ended lease', async () => {
    const request = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'browser_tabs', arguments: {} } };
    const headers = { 'content-type': 'application/json', accept: 'application/json, application/problem+json' };
    const answer = await fetch(mcpUrl, { method: 'POST', headers, body: JSON.stringify(request) }).catch(() => null);
    return answer !== null && (await answer.text()).includes('lease has ended');
  });
  expect(lines.length).toBeGreaterThan(0);
  expect(lines.filter(line => line.includes(token))).toEqual([]);
});
