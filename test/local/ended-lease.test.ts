import { rm } from 'node:fs/promises';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BrowserSessions } from '../../client/browser-sessions.ts';
import { ENV } from '../../contract/names.ts';
import { type Stack, startStack } from '../../local/stack.ts';
import { eventually } from '../eventually.ts';
import { migratedDatabaseUrl } from '../postgres.ts';
import { CLIENTS, v2 } from '../runner/mcp-clients.ts';
import { newFolder, runnerPids, shell } from './machine.ts';

const SNAPSHOT = ['browser_tabs', { action: 'list' }] as const;

describe('a client that is connected when its lease ends', () => {
  let folder: string;
  let stack: Stack;
  let sessions: BrowserSessions;
  beforeAll(async () => {
    folder = await newFolder();
    const databaseUrl = await migratedDatabaseUrl();
    stack = await startStack({
      folder,
      databaseUrl,
      log: pino({ level: 'silent' }),
      egress: 'off',
      settings: { [ENV.reapSeconds]: '1' },
      runnerEnv: shell(),
    });
    sessions = new BrowserSessions(stack);
  });
  afterAll(async () => {
    await stack?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  const acquire = (conversationId: string, ttlSeconds?: number) =>
    sessions.acquire({ userId: 'ada', conversationId, recordVideo: false, ...(ttlSeconds && { ttlSeconds }) });
  const runnersGone = () =>
    eventually('the runner to be gone', async () => (await runnerPids(folder)).length <= 1, 20_000);

  it('reads why in each call, at once and after its runner is gone, whichever client it is', {
    timeout: 180_000,
  }, async () => {
    const lease = await acquire('every client');
    const clients = await Promise.all(
      Object.entries(CLIENTS).map(async ([name, { start }]) => ({ name, client: await start(lease) })),
    );
    for (const { client } of clients) expect(await client.call(...SNAPSHOT)).toMatchObject({ isError: false });
    await lease.end();
    const answers = () =>
      Promise.all(clients.map(async ({ name, client }) => ({ name, ...(await client.call(...SNAPSHOT)) })));
    const ended = {
      text: expect.stringContaining('The lease has ended: the platform ended it. Its tabs are closed.'),
      isError: true,
    };
    const expected = Object.keys(CLIENTS).map(name => ({ name, ...ended }));
    expect(await answers()).toEqual(expected);
    await runnersGone();
    expect(await answers()).toEqual(expected);
    for (const { client } of clients) expect(await client.tools()).toContain('browser_navigate');
    await Promise.all(clients.map(({ client }) => client.close()));
    // one that connects only now
    const late = await v2(lease);
    expect(await late.call(...SNAPSHOT)).toMatchObject(ended);
    await late.close();
    // the token of the lease is still needed
    await expect(v2({ ...lease, headers: { authorization: 'Bearer x' } })).rejects.toThrow();
  });

  it('[O25] reads that the lease expired, once no request holds it', async () => {
    const lease = await acquire('expired', 5);
    const client = await v2(lease);
    {
      await using first = lease;
      await first.heartbeat();
    }
    {
      await using next = await acquire('expired', 5);
      expect(next).toMatchObject({ sessionId: lease.sessionId, epoch: lease.epoch, mcpUrl: lease.mcpUrl });
    }
    await eventually('the end', async () => (await sessions.get(lease.sessionId)).status === 'ended', 30_000);
    await runnersGone();
    expect(await client.call(...SNAPSHOT)).toMatchObject({
      isError: true,
      text: expect.stringContaining('nothing used'),
    });
    await client.close();
  });

  it('reads that the browser is gone, when its runner is killed', async () => {
    const lease = await acquire('killed');
    const client = await v2(lease);
    const pids = await runnerPids(folder);
    for (const pid of pids) process.kill(pid, 'SIGKILL');
    await eventually('the loss', async () => (await sessions.get(lease.sessionId)).status === 'error', 20_000);
    // Between the end of the process and the controller on its port a call is refused; a client tries again.
    const answer = await eventually('an answer', () => client.call(...SNAPSHOT));
    expect(answer).toMatchObject({ isError: true, text: expect.stringContaining('crashed') });
    await client.close();
    await lease.release();
  });
});
