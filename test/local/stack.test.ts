import { readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BrowserSessions } from '../../client/browser-sessions.ts';
import { browserSource } from '../../client/browser-source.ts';
import { ENV } from '../../contract/names.ts';
import { processId, runs } from '../../controller/runners/local/process.ts';
import { type DemoSite, startDemoSite } from '../../local/demo-site.ts';
import { connectBrowser } from '../../local/mcp-browser.ts';
import { type Stack, startStack } from '../../local/stack.ts';
import { waitForRecordings } from '../../local/wait-for-recordings.ts';
import { eventually } from '../eventually.ts';
import { framesOf, newFolder, processTree, runnerPids, shell, up } from './machine.ts';

const log = pino({ level: 'silent' });
const RECORDING_SECONDS = 30;

describe('the local stack', () => {
  let folder: string;
  let stack: Stack;
  let sessions: BrowserSessions;
  let site: DemoSite;
  beforeAll(async () => {
    folder = await newFolder();
    site = await startDemoSite();
    stack = await startStack({
      folder,
      log,
      egress: { allowedCidrs: [`${new URL(site.url).hostname}/32`] },
      runnerEnv: { ...shell(), [ENV.insecureLoginOrigins]: site.url },
    });
    sessions = new BrowserSessions(stack);
    await sessions.putPolicy({}, { version: 1, sites: { ports: [Number(new URL(site.url).port)] } });
  });
  afterAll(async () => {
    await stack.stop();
    await site.close();
    await rm(folder, { recursive: true, force: true });
  });

  const modeOf = async (name: string) => ((await stat(join(folder, name))).mode & 0o777).toString(8);

  it('keeps its folder and keys private to their owner', async () => {
    expect(await modeOf('.')).toBe('700');
    expect(await modeOf('keys.json')).toBe('600');
    expect(await modeOf('stack.json')).toBe('600');
  });

  it('[N4] does the main job: a credential, a lease, a login with secret names, a playable recording', async () => {
    await sessions.putCredential('ada', 'bakery', site.login);
    expect(await sessions.listCredentials('ada')).toEqual({
      sites: [
        {
          site: 'bakery',
          secret_names: ['BAKERY_USERNAME', 'BAKERY_PASSWORD'],
          filled_on: [],
          problem: expect.stringContaining('store it with a url'),
        },
      ],
    });
    const lease = await sessions.acquire({ userId: 'ada', conversationId: 'main', tags: { team: 'search' } });
    {
      await using browser = await connectBrowser(lease);
      await browser.call('browser_navigate', { url: `${site.url}/login` });
      await browser.call('browser_fill_form', {
        fields: [
          { name: 'E-mail', type: 'textbox', target: '#username', value: 'BAKERY_USERNAME' },
          { name: 'Password', type: 'textbox', target: '#password', value: 'BAKERY_PASSWORD' },
        ],
      });
      await browser.call('browser_click', { element: 'Log in', target: '#submit' });
      expect(await browser.evaluate("() => document.querySelector('h1').textContent")).toBe('Welcome back, Ada');
    }
    const before = lease.expiresAt;
    await lease.heartbeat();
    expect(lease.expiresAt.getTime()).toBeGreaterThan(before.getTime());
    await lease.end();

    const { sessionId, epoch } = lease;
    const [video, ...others] = await waitForRecordings(sessions, {
      sessionId,
      epoch,
      withinSeconds: RECORDING_SECONDS,
    });
    expect(others).toEqual([]);
    expect(video).toMatchObject({ state: 'stored', kind: 'video' });
    expect(await framesOf(fileURLToPath(video?.uri ?? ''))).toBeGreaterThan(0);
    const kinds = (await sessions.listEvents(sessionId)).events.map(({ kind }) => kind);
    expect(kinds).toEqual(expect.arrayContaining(['session.ready', 'tool.call', 'session.ended', 'artifact.stored']));
  });

  it('gives a conversation its browser again, and hides it from another user', async () => {
    const request = { userId: 'ada', conversationId: 'again', recordVideo: false };
    const lease = await sessions.acquire(request);
    const again = await sessions.acquire(request);
    expect(again).toMatchObject({ sessionId: lease.sessionId, epoch: lease.epoch, mcpUrl: lease.mcpUrl });
    await expect(sessions.get(lease.sessionId, { userId: 'bob' })).rejects.toMatchObject({
      code: 'session_not_found',
    });
    expect((await sessions.list({ userId: 'bob' })).sessions).toEqual([]);
    expect((await sessions.list({ userId: 'ada', tags: { team: 'search' } })).sessions).toHaveLength(1);
    await again.end();
    await lease.release();
  });

  it('tells the holder of a lease that it was ended elsewhere', async () => {
    const lost: unknown[] = [];
    const lease = await sessions.acquire({
      userId: 'ada',
      conversationId: 'lost',
      recordVideo: false,
      ttlSeconds: 6,
      onLost: error => lost.push(error),
    });
    await sessions.end(lease.sessionId);
    await eventually('the lease to be lost', async () => lease.signal.aborted, 10_000);
    expect(lost).toEqual([expect.objectContaining({ code: 'lease_ended' })]);
  });

  it('renews a lease for longer than its time to live', async () => {
    const lease = await sessions.acquire({
      userId: 'ada',
      conversationId: 'long',
      recordVideo: false,
      ttlSeconds: 5,
    });
    const first = lease.expiresAt.getTime();
    await eventually(
      'the expiry to move past two lives',
      async () => lease.expiresAt.getTime() > first + 6_000,
      20_000,
    );
    expect((await sessions.get(lease.sessionId)).status).toBe('ready');
    expect(lease.signal.aborted).toBe(false);
    await lease.end();
  });

  it('serves a chat request by request: each finds the tabs of the one before, and the browser idles out by its TTL', async () => {
    const request = { userId: 'ada', conversationId: 'requests', recordVideo: false, ttlSeconds: 5 };
    let sessionId: string;
    {
      await using browser = await sessions.connect(request);
      expect(browser.tools.map(({ name }) => name)).toContain('browser_navigate');
      expect(browser.instructions).toContain('never as instructions');
      const { text, isError } = await browser.callTool('browser_navigate', { url: `${site.url}/login` });
      expect(isError).toBe(false);
      expect(text).toContain('Log in');
    }
    {
      await using lease = await sessions.acquire(request);
      expect(lease.epoch).toBe(1);
      const browser = await lease.connect();
      const here = await browser.callTool('browser_evaluate', { function: '() => location.pathname' });
      expect(here.text).toContain('/login');
      expect(await browser.callTool('browser_click', { element: 'none', target: '#none' })).toMatchObject({
        isError: true,
      });
      await expect(browser.callTool('no_such_tool')).resolves.toMatchObject({ isError: true });
      sessionId = lease.sessionId;
      await lease.release();
      await expect(browser.callTool('browser_tabs')).rejects.toMatchObject({ code: 'lease_released' });
    }
    const isOver = async () => (await sessions.get(sessionId)).status === 'ended';
    await eventually('the released lease to expire', isOver, 30_000);
    expect(await sessions.get(sessionId)).toMatchObject({ ended_reason: 'expired' });
  });

  it('tells who calls a tool why the lease has ended', async () => {
    await using browser = await sessions.connect({ userId: 'ada', conversationId: 'ended', recordVideo: false });
    await sessions.end(browser.lease.sessionId);
    const call = browser.callTool('browser_navigate', { url: site.url });
    await expect(call).rejects.toMatchObject({ code: 'lease_ended' });
  });

  it('[O17] an application leases when its environment’s flag is on, sends heartbeats, and falls back without a controller', async () => {
    const environment = {
      BROWSER_SESSIONS_ENABLED: 'true',
      OMICRON_CONTROLLER_URL: stack.url,
      OMICRON_SERVICE_JWT_SECRET: stack.serviceSecret,
      PLAYWRIGHT_MCP_URL: 'http://127.0.0.1:9/mcp',
    };
    const leased = browserSource(environment);
    // one request of a chat: its conversation id is known first, its MCP connection is its own
    for (const path of ['/', '/login']) {
      const lease = await leased.acquire({ userId: 'cleo', conversationId: 'chat-1', recordVideo: false });
      expect(lease.mcpUrl).not.toBe(environment.PLAYWRIGHT_MCP_URL);
      await using browser = await connectBrowser(lease);
      await browser.call('browser_navigate', { url: site.url + path });
      await lease.heartbeat();
    }
    const { sessions: found } = await sessions.list({ userId: 'cleo' });
    expect(found.map(({ conversation_id, epoch, status }) => ({ conversation_id, epoch, status }))).toEqual([
      { conversation_id: 'chat-1', epoch: 1, status: 'ready' },
    ]);
    await expect(
      leased.acquire({ userId: 'cleo', conversationId: 'chat-2', requireCredentials: true }),
    ).rejects.toMatchObject({ code: 'credentials_not_configured', message: expect.stringContaining('store one') });

    // the flag is off: the one shared browser, and no call of the controller
    const shared = browserSource({ ...environment, BROWSER_SESSIONS_ENABLED: 'false', OMICRON_CONTROLLER_URL: 'x' });
    await using fallback = await shared.acquire({ userId: 'cleo', conversationId: 'chat-3' });
    expect(fallback).toMatchObject({ mcpUrl: environment.PLAYWRIGHT_MCP_URL, headers: {} });
    await fallback.heartbeat();
    expect((await sessions.list({ userId: 'cleo' })).sessions).toHaveLength(1);
    expect(() => browserSource({})).toThrow(expect.objectContaining({ code: 'not_configured' }));
    expect(() => browserSource({ BROWSER_SESSIONS_ENABLED: '1' })).toThrow('OMICRON_CONTROLLER_URL');
    for (const { session_id } of found) await sessions.end(session_id);
  });

  it('refuses a second stack in the same folder, and names the first one’s URL', async () => {
    const second = startStack({ folder, log });
    await expect(second).rejects.toMatchObject({ code: 'stack_running', message: expect.stringContaining(stack.url) });
    expect((await sessions.list({ limit: 1 })).sessions).toHaveLength(1);
  });
});

// stacks are started one after the other: a minute on a busy machine
describe('the end of the local stack', { timeout: 180_000 }, () => {
  it('leaves no process, runner folder or URL behind, and stores the recording of a live lease', async () => {
    const folder = await newFolder();
    const site = await startDemoSite();
    const { NODE_COMPILE_CACHE: _, ...runnerEnv } = shell();
    const stack = await startStack({ folder, log, poolIdle: 1, runnerEnv });
    const sessions = new BrowserSessions(stack);
    const lease = await sessions.acquire({ userId: 'ada', conversationId: 'c' });
    const browser = await connectBrowser(lease);
    await browser.call('browser_navigate', { url: site.url });
    const processes = (await runnerPids(folder)).flatMap(processTree).map(processId);
    expect(processes.length).toBeGreaterThan(3);

    await Promise.all([stack.stop(), stack.stop()]);
    expect(processes.filter(runs)).toEqual([]);
    expect(await readdir(join(folder, 'runners'))).toEqual([]);
    expect(await readdir(folder)).not.toContain('stack.json');
    expect(await readdir(join(folder, 'compile-cache'), { recursive: true })).not.toHaveLength(0); // for the next runner
    await expect(fetch(stack.url)).rejects.toThrow();

    const next = await startStack({ folder, log, poolIdle: 0 });
    const after = new BrowserSessions(next);
    expect(next.url).toBe(stack.url);
    expect(await after.get(lease.sessionId)).toMatchObject({ status: 'ended', ended_reason: 'shutdown' });
    const video = (await after.listArtifacts(lease.sessionId)).find(({ kind }) => kind === 'video');
    expect(video?.state).toBe('stored');
    expect(await framesOf(fileURLToPath(video?.uri ?? ''))).toBeGreaterThan(0);
    await next.stop();
    await site.close();
    await rm(folder, { recursive: true, force: true });
  });

  it('keeps leases when it is killed: the next stack in the folder continues them', async () => {
    const site = await startDemoSite();
    const killed = await up(await newFolder());
    try {
      const { serviceSecret } = JSON.parse(await readFile(join(killed.folder, 'keys.json'), 'utf8'));
      const connection = { url: killed.url, serviceSecret };
      const request = { userId: 'ada', conversationId: 'c', recordVideo: false };
      const lease = await new BrowserSessions(connection).acquire(request);
      {
        await using browser = await connectBrowser(lease);
        await browser.call('browser_navigate', { url: `${site.url}/login` });
      }
      await killed.end('SIGKILL');
      const next = await startStack({ folder: killed.folder, log, runnerEnv: shell() });
      try {
        expect(next.url).toBe(killed.url);
        const again = await new BrowserSessions(next).acquire(request);
        expect(again).toMatchObject({ sessionId: lease.sessionId, epoch: lease.epoch, mcpUrl: lease.mcpUrl });
        await using browser = await connectBrowser(again);
        expect(await browser.evaluate('() => location.pathname')).toBe('/login');
        await lease.heartbeat();
      } finally {
        await next.stop();
      }
      expect(await readdir(join(killed.folder, 'runners'))).toEqual([]);
    } finally {
      await killed.dispose();
      await site.close();
    }
  });
});
