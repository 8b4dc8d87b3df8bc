import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BrowserSessions } from '../../client/browser-sessions.ts';
import { ENV } from '../../contract/names.ts';
import { connectMcpBrowser } from '../../local/mcp-browser.ts';
import { type Stack, startStack } from '../../local/stack.ts';
import { eventually } from '../eventually.ts';
import { newFolder, shell } from '../local/machine.ts';
import { migratedDatabaseUrl } from '../postgres.ts';
import { LOGGED_IN, type MemberSite, SECRETS, startMemberSite } from '../site/member-site.ts';
import { found, logIn } from './member.ts';

describe('a profile on real browsers', () => {
  let folder: string;
  let stack: Stack;
  let sessions: BrowserSessions;
  let site: MemberSite;
  beforeAll(async () => {
    folder = await newFolder();
    site = await startMemberSite();
    const databaseUrl = await migratedDatabaseUrl();
    const log = pino({ level: 'silent' });
    const runnerEnv = { ...shell(), [ENV.keepPages]: 'none' };
    stack = await startStack({ folder, log, databaseUrl, egress: 'off', poolIdle: 1, runnerEnv });
    sessions = new BrowserSessions(stack);
  });
  afterAll(async () => {
    await stack.stop();
    await site[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  let conversations = 0;
  const leaseOf = (profile: string, profileMode: 'read-write' | 'read-only' = 'read-write') => {
    conversations += 1;
    const conversationId = `c${conversations}`;
    return sessions.acquire({ userId: 'ada', conversationId, recordVideo: false, profile, profileMode });
  };

  it('saves a login while the lease goes on, and keeps it though the runner is killed', async () => {
    const lease = await leaseOf('killed');
    await logIn(site, lease);
    expect(await sessions.saveProfile('ada', 'killed')).toBe(1);
    expect(await sessions.saveProfile('ada', 'killed')).toBe(1); // nothing had changed
    const { runner_id } = await sessions.get(lease.sessionId);
    process.kill(await pidOf(runner_id ?? ''), 'SIGKILL');
    await eventually('the end of the lease', async () => (await sessions.get(lease.sessionId)).status === 'error');
    const next = await leaseOf('killed');
    expect(await found(site, next)).toEqual(LOGGED_IN);
    await next.end();
    await lease.release();
  });

  it('keeps the last whole version of a runner that is killed while it saves', async () => {
    const first = await leaseOf('cut');
    await logIn(site, first);
    await sessions.saveProfile('ada', 'cut');
    for (const share of [0.2, 0.5, 0.8]) {
      const lease = share === 0.2 ? first : await leaseOf('cut');
      const pid = await pidOf((await sessions.get(lease.sessionId)).runner_id ?? '');
      await using browser = await connectMcpBrowser(lease);
      await browser.goto(site.url);
      const store = `() => { localStorage.setItem('bulk', '${share}'.repeat(1_000_000)); return true }`;
      const beganMs = performance.now();
      await browser.evaluate(store);
      const saving = sessions.saveProfile('ada', 'cut').catch(() => null);
      await sleep((performance.now() - beganMs) * share); // somewhere in the save: what is right is right at any moment
      process.kill(pid, 'SIGKILL');
      const saved = await saving;
      await eventually('the end of the lease', async () => (await sessions.get(lease.sessionId)).status === 'error');
      const state = await sessions.exportProfile('ada', 'cut');
      expect(state.cookies.map(({ value }) => value).sort()).toEqual([SECRETS.lasting, SECRETS.session]);
      if (saved !== null) expect((await sessions.getProfile('ada', 'cut')).version).toBeGreaterThanOrEqual(saved);
      await lease.release();
    }
    const last = await leaseOf('cut', 'read-only');
    expect(await found(site, last)).toEqual(LOGGED_IN);
    await last.end();
    await sessions.deleteProfile('ada', 'cut');
  });

  it('ends in time, with its last version, when a page stores more than a profile holds or never answers', async () => {
    const lease = await leaseOf('heavy');
    await logIn(site, lease);
    await sessions.saveProfile('ada', 'heavy');
    const browser = await connectMcpBrowser(lease);
    await browser.goto(`${site.url}/login`);
    await browser.evaluate(`async () => {
      const db = await new Promise(done => {
        const request = indexedDB.open('bulk', 1);
        request.onupgradeneeded = () => request.result.createObjectStore('s');
        request.onsuccess = () => done(request.result);
      });
      for (let n = 1; n < 40; n++)
        await new Promise(done => { db.transaction('s', 'readwrite').objectStore('s').put('x'.repeat(1 << 20), n).onsuccess = done });
      return true;
    }`);
    await expect(sessions.saveProfile('ada', 'heavy')).rejects.toMatchObject({ code: 'profile_unavailable' });
    await browser.evaluate('() => { setTimeout(() => { for (;;); }, 50); return true }');
    await browser[Symbol.asyncDispose]();
    await lease.end();
    const next = await leaseOf('heavy');
    expect(await found(site, next)).toEqual(LOGGED_IN);
    const { events } = await sessions.listEvents(lease.sessionId);
    expect(events.map(({ kind }) => kind)).toContain('profile.save_failed');
    await next.end();
    await eventually('the last save', () => sessions.deleteProfile('ada', 'heavy').then(() => true));
  });

  const pidOf = async (runnerId: string): Promise<number> =>
    JSON.parse(await readFile(join(folder, 'runners', runnerId, 'process.json'), 'utf8')).pid;
});
