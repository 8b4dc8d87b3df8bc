import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { pino } from 'pino';
import { expect, it } from 'vitest';
import { BrowserSessions } from '../../client/browser-sessions.ts';
import { ENV } from '../../contract/names.ts';
import { freePort } from '../../local/free-port.ts';
import { startStack } from '../../local/stack.ts';
import { eventually } from '../eventually.ts';
import { migratedDatabaseUrl } from '../postgres.ts';
import { v2 } from '../runner/mcp-clients.ts';
import { newFolder, runnerPids, shell } from './machine.ts';

const SNAPSHOT = ['browser_tabs', { action: 'list' }] as const;

it('a client that reaches the controller alone is passed on to its runner, and reads there why its lease ended', async () => {
  const folder = await newFolder();
  const port = await freePort();
  const serviceSecret = randomBytes(32).toString('hex');
  const publicUrl = `http://localhost:${port}`;
  const settings = { [ENV.publicUrl]: publicUrl, [ENV.serviceSecret]: serviceSecret };
  const stack = await startStack({
    ...{ folder, port, settings, databaseUrl: await migratedDatabaseUrl() },
    ...{ egress: 'off', runnerEnv: shell(), log: pino({ level: 'silent' }) },
  });
  try {
    const sessions = new BrowserSessions({ url: publicUrl, serviceSecret });
    const lease = await sessions.acquire({ userId: 'ada', conversationId: 'c', recordVideo: false });
    expect(lease.mcpUrl).toMatch(new RegExp(`^${publicUrl}/runners/[0-9a-f-]{36}/mcp$`));
    const clients = await Promise.all([v2(lease), v2(lease)]);
    const answers = () => Promise.all(clients.map(client => client.call(...SNAPSHOT)));
    expect((await answers()).map(({ isError }) => isError)).toEqual([false, false]);
    await expect(v2({ ...lease, headers: { authorization: 'Bearer x' } })).rejects.toThrow();
    const page = { ...lease, headers: { ...lease.headers, origin: 'https://example.com' } };
    await expect(v2(page)).rejects.toThrow('origin');

    await lease.end();
    const ended = { text: expect.stringContaining('The lease has ended: the platform ended it.'), isError: true };
    expect(await answers()).toEqual([ended, ended]);
    await eventually('the runner to be gone', async () => (await runnerPids(folder)).length <= 1, 20_000);
    expect(await answers()).toEqual([ended, ended]);
    for (const client of clients) await client.close();
  } finally {
    await stack.stop();
    await rm(folder, { recursive: true, force: true });
  }
}, 60_000);
