import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BrowserSessions } from '../../client/browser-sessions.ts';
import { browserSource } from '../../client/browser-source.ts';
import { ENV } from '../../contract/names.ts';
import { type DemoSite, startDemoSite } from '../../local/demo-site.ts';
import { connectMcpBrowser } from '../../local/mcp-browser.ts';
import { type Stack, startStack } from '../../local/stack.ts';
import { waitForRecordings } from '../../local/wait-for-recordings.ts';
import { eventually } from '../eventually.ts';
import { framesOf, newFolder, shell } from './machine.ts';

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
      settings: { [ENV.reapSeconds]: '1' },
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
          client_certificate: false,
          problem: expect.stringContaining('store it again with its site'),
        },
      ],
    });
    const lease = await sessions.acquire({ userId: 'ada', conversationId: 'main', tags: { team: 'search' } });
    {
      await using browser = await connectMcpBrowser(lease);
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

  it('[E4] hands a lease the options that its pages see, from its request to the page', async () => {
    const page = {
      locale: 'fr-CA',
      timezone: 'America/Toronto',
      colorScheme: 'dark',
      userAgentSuffix: 'Example/1',
    } as const;
    const viewport = { width: 1024, height: 700 };
    const request = { userId: 'ada', conversationId: 'page options', recordVideo: false, viewport, ...page };
    await using lease = await sessions.acquire(request);
    await using browser = await connectMcpBrowser(lease);
    await browser.call('browser_navigate', { url: site.url });
    const seen = `() => [navigator.language, Intl.DateTimeFormat().resolvedOptions().timeZone, navigator.userAgent.split(' ').at(-1),
      matchMedia('(prefers-color-scheme: dark)').matches, innerWidth, innerHeight]`;
    expect(await browser.evaluate(seen)).toEqual(['fr-CA', 'America/Toronto', 'Example/1', true, 1024, 700]);
    const spoilt = { ...request, conversationId: 'other', timezone: 'Mars/Olympus' };
    await expect(sessions.acquire(spoilt)).rejects.toMatchObject({
      code: 'invalid_request',
      message: expect.stringContaining('timezone'),
    });
    await lease.end();
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

  it.concurrent('informs the holder of a lease that it was ended elsewhere', async () => {
    const lost: unknown[] = [];
    const lease = await sessions.acquire({
      userId: 'ada',
      conversationId: 'lost',
      recordVideo: false,
      ttlSeconds: 6,
      onLost: error => lost.push(error),
    });
    await sessions.end(lease.sessionId);
    await eventually('the lease to be lost', async () => lease.signal.aborted);
    expect(lost).toEqual([expect.objectContaining({ code: 'lease_ended' })]);
  });

  it.concurrent('renews a lease for longer than its time to live', async () => {
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

  it.concurrent('serves a chat request by request: each finds the tabs of the one before, and the browser idles out by its TTL', async () => {
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
    await eventually('the released lease to expire', isOver);
    expect(await sessions.get(sessionId)).toMatchObject({ ended_reason: 'expired' });
  });

  it('answers who calls a tool why the lease has ended', async () => {
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
      await using browser = await connectMcpBrowser(lease);
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
