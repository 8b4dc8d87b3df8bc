import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BrowserSessions } from '../../client/browser-sessions.ts';
import { ENV } from '../../contract/names.ts';
import { connectMcpBrowser } from '../../local/mcp-browser.ts';
import { type Stack, startStack } from '../../local/stack.ts';
import { eventually } from '../eventually.ts';
import { newFolder, shell } from '../local/machine.ts';
import { LOGGED_IN, LOGGED_OUT, type MemberSite, SECRETS, startMemberSite } from '../site/member-site.ts';
import { found, logIn } from './member.ts';

describe('a profile on real browsers', () => {
  let folder: string;
  let stack: Stack;
  let sessions: BrowserSessions;
  let site: MemberSite;
  let logged = '';
  beforeAll(async () => {
    folder = await newFolder();
    site = await startMemberSite();
    const log = pino({ level: 'debug' }, { write: (line: string) => (logged += line) });
    const settings = { [ENV.userLimit]: '10' };
    // A page that is kept holds what it showed, and this site shows what it stored.
    const runnerEnv = { ...shell(), [ENV.keepPages]: 'none' };
    stack = await startStack({ folder, log, egress: 'off', poolIdle: 2, settings, runnerEnv });
    sessions = new BrowserSessions(stack);
  });
  afterAll(async () => {
    await stack.stop();
    await site[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  let conversations = 0;
  const leaseOf = (profile: string | null, profileMode: 'read-write' | 'read-only' = 'read-write') => {
    conversations += 1;
    const conversationId = `c${conversations}`;
    return sessions.acquire({ userId: 'ada', conversationId, recordVideo: false, profile, profileMode });
  };

  it('keeps the login of a lease for the next one, on another runner', async () => {
    const first = await leaseOf('work');
    expect(await found(site, first)).toEqual(LOGGED_OUT);
    await logIn(site, first);
    const { runner_id } = await sessions.get(first.sessionId);
    await first.end();
    const second = await leaseOf('work');
    expect((await sessions.get(second.sessionId)).runner_id).not.toBe(runner_id);
    expect(await found(site, second)).toEqual(LOGGED_IN);
    await second.end();
    expect(await sessions.listProfiles('ada')).toEqual([
      expect.objectContaining({
        name: 'work',
        version: 1, // the second lease changed nothing
        domains: [{ domain: '127.0.0.1', expires_at: null, logged_in: true }],
        writer_session_id: null,
      }),
    ]);
  });

  it('does not save what a read-only lease did', async () => {
    const reader = await leaseOf('work', 'read-only');
    expect(await found(site, reader)).toEqual(LOGGED_IN);
    await using browser = await connectMcpBrowser(reader);
    await browser.evaluate("() => { localStorage.setItem('token', 'other'); return true }");
    await expect(sessions.saveProfile('ada', 'work')).rejects.toMatchObject({ code: 'lease_ended' });
    await reader.end();
    const writer = await leaseOf('work');
    expect(await found(site, writer)).toEqual(LOGGED_IN);
    await writer.end();
  });

  it('refuses a second writer, and lets a reader in', async () => {
    const writer = await leaseOf('work');
    await expect(leaseOf('work')).rejects.toMatchObject({
      code: 'profile_in_use',
      retryAfterSeconds: expect.any(Number),
      extra: { session_id: writer.sessionId },
    });
    const reader = await leaseOf('work', 'read-only');
    expect(await found(site, reader)).toEqual(LOGGED_IN);
    const { conversation_id: conversationId } = await sessions.get(writer.sessionId);
    const other = { userId: 'ada', conversationId, recordVideo: false };
    await expect(sessions.acquire({ ...other, profile: null })).rejects.toMatchObject({ code: 'profile_mismatch' });
    expect((await sessions.acquire(other)).sessionId).toBe(writer.sessionId);
    await Promise.all([writer.end(), reader.end()]);
  });

  it('takes a storageState in and gives it out, and goes back to an older version', async () => {
    const state = await sessions.exportProfile('ada', 'work');
    expect(state.cookies.map(({ value }) => value).sort()).toEqual([SECRETS.lasting, SECRETS.session]);
    expect(await sessions.importProfile('ada', 'copy', state)).toBe(1);
    expect(await sessions.importProfile('ada', 'copy', { cookies: [], origins: [] })).toBe(2);
    expect(await sessions.restoreProfile('ada', 'copy')).toBe(3); // version 1, as a copy
    const lease = await leaseOf('copy', 'read-only');
    expect(await found(site, lease)).toEqual(LOGGED_IN);
    await lease.end();
    const file = { cookies: [], origins: [{ origin: 'file:///etc', localStorage: [] }] };
    await expect(sessions.importProfile('ada', 'copy', file)).rejects.toMatchObject({ code: 'invalid_request' });
  });

  it('[D1] [D4] goes on with another profile, or none, where the conversation asks for it and no other lease has it', async () => {
    const request = { userId: 'ada', conversationId: 'switching', recordVideo: false };
    const first = await sessions.acquire({ ...request, profile: 'work' });
    expect(await found(site, first)).toEqual(LOGGED_IN);
    const second = await sessions.setProfile({ ...request, profile: 'fresh' });
    expect([second.sessionId, second.epoch]).toEqual([first.sessionId, first.epoch + 1]);
    expect(await found(site, second)).toEqual(LOGGED_OUT);
    const writer = await leaseOf('work'); // which the switch has given back
    await expect(sessions.setProfile({ ...request, profile: 'work', waitSeconds: 0 })).rejects.toMatchObject({
      code: 'profile_in_use',
      extra: { session_id: writer.sessionId },
    });
    expect((await sessions.acquire({ ...request, profile: 'fresh' })).epoch).toBe(second.epoch); // it stays as it was
    const third = await sessions.setProfile({ ...request, profile: 'work', profileMode: 'read-only' });
    expect(await found(site, third)).toEqual(LOGGED_IN);
    const fourth = await sessions.setProfile({ ...request, profile: null });
    expect(await found(site, fourth)).toEqual(LOGGED_OUT);
    await Promise.all([writer.end(), fourth.end()]);
    await eventually('the last save', () => sessions.deleteProfile('ada', 'fresh').then(() => true));
  });

  it('lets an agent that a policy allows list, save, restore and switch the profiles of its user, and no other agent', async () => {
    const request = { userId: 'eve', conversationId: 'agent', recordVideo: false, profile: 'mine' };
    const tools = ['listProfiles', 'setProfile', 'snapshotProfile', 'restoreProfile'];
    await using closed = await sessions.connect({ userId: 'ada', conversationId: 'agent', recordVideo: false });
    expect(closed.tools.map(({ name }) => name)).not.toEqual(expect.arrayContaining(tools.slice(0, 1)));
    expect((await closed.callTool('listProfiles')).text).toContain('policy_blocked');
    await closed.lease.end();
    await sessions.putPolicy({ userId: 'eve' }, { version: 1, tools: [{ tools, action: 'allow' }] });
    await using agent = await sessions.connect(request);
    expect(agent.tools.map(({ name }) => name)).toEqual(expect.arrayContaining(tools));
    const ask = async (name: string, args = {}) => JSON.parse((await agent.callTool(name, args)).text);
    await logIn(site, agent.lease);
    expect(await ask('snapshotProfile')).toEqual({ success: true, version: 1 });
    const { profiles } = await ask('listProfiles');
    expect(profiles).toEqual([
      { name: 'mine', version: 1, savedAt: expect.any(String), inUse: true, loggedIn: ['127.0.0.1'] },
    ]);
    await agent.callTool('browser_evaluate', { function: "() => { localStorage.setItem('more', 'yes') }" });
    expect(await ask('snapshotProfile')).toEqual({ success: true, version: 2 });
    expect(await ask('restoreProfile', { profileName: 'mine', version: 1 })).toMatchObject({
      error: { code: 'profile_in_use', message: expect.stringContaining(agent.lease.sessionId) },
    });
    expect(await ask('restoreProfile', { profileName: 'work', version: 1 })).toMatchObject({
      error: { code: 'profile_not_found' }, // ada's
    });
    const set = await agent.callTool('setProfile', { profileName: 'other' });
    expect(JSON.parse(set.text)).toMatchObject({ success: true, profileName: 'other' });
    // The same connection goes on, with the other browser.
    expect(await ask('listProfiles')).toMatchObject({
      profiles: expect.arrayContaining([expect.objectContaining({ name: 'other', inUse: true })]),
    });
    expect(agent.lease.signal.aborted).toBe(false);
    const next = await sessions.acquire({ ...request, profile: 'other' });
    expect(next.epoch).toBe(agent.lease.epoch);
    expect(await found(site, next)).toEqual(LOGGED_OUT);
    await next.end();
    for (const name of ['mine', 'other'])
      await eventually('the last save', () => sessions.deleteProfile('eve', name).then(() => true));
  });

  it('looks at a page, whether the saved login still holds, in a browser of its own', async () => {
    const writer = await leaseOf('work');
    const check = (page: { selector?: string; text?: string; url?: string }) =>
      sessions.checkProfile('ada', 'work', { url: site.url, ...page });
    expect(await check({ text: 'Member area' })).toEqual({ logged_in: true, url: `${site.url}/` });
    expect(await check({ selector: 'body >> text=Log in' })).toEqual({ logged_in: false, url: `${site.url}/` });
    expect(await check({ text: 'Member area', url: 'http://127.0.0.1:1/' })).toMatchObject({ logged_in: null });
    await expect(check({ selector: '>>' })).rejects.toMatchObject({ code: 'invalid_request' });
    expect((await sessions.list({ userId: 'ada', tags: { purpose: 'profile-check' } })).sessions).toEqual([]);
    await writer.end();
  });

  it('shows the agent where a login has expired', async () => {
    const state = await sessions.exportProfile('ada', 'work');
    const cookies = state.cookies.map(cookie => ({ ...cookie, domain: 'shop.example', expires: 1 }));
    await sessions.importProfile('ada', 'stale', { cookies, origins: [] });
    const request = { userId: 'ada', conversationId: 'stale', recordVideo: false, profile: 'stale' };
    await using browser = await sessions.connect({ ...request, profileMode: 'read-only' });
    expect(browser.instructions).toContain('have expired at shop.example: log in again there.');
    await browser.lease.end();
    await sessions.deleteProfile('ada', 'stale');
  });

  it('restores the rest of a profile of which a browser does not take a part', async () => {
    const state = await sessions.exportProfile('ada', 'work');
    const [cookie] = state.cookies;
    if (cookie === undefined) throw new Error('the profile has no cookie');
    state.cookies.push({ ...cookie, name: '__Host-odd', domain: '.odd.example' });
    const store = { name: 's', keyPath: 'id', autoIncrement: false, indexes: [], records: [{ value: {} }] };
    const indexedDB = [{ name: 'keys', version: 1, stores: [store] }];
    state.origins.unshift({ origin: 'https://odd.example', localStorage: [], indexedDB });
    await sessions.importProfile('ada', 'odd', state);
    const lease = await leaseOf('odd');
    expect(await found(site, lease)).toEqual(LOGGED_IN);
    await lease.end();
    await eventually('the last save', () => sessions.deleteProfile('ada', 'odd').then(() => true));
  });

  it('gives a lease without a profile no login', async () => {
    const lease = await leaseOf(null);
    expect(await found(site, lease)).toEqual(LOGGED_OUT);
    await lease.end();
  });

  it('deletes a profile with all that was stored, and never wrote a value in the clear', async () => {
    const objects = async () => (await filesOf(join(folder, 'profiles'))).length;
    expect(await objects()).toBe(4); // work 1, copy 3
    // What a lease leaves on the disk goes with its runner's folder; those that wait for a lease hold nothing.
    await expect.poll(() => clearIn(join(folder, 'runners')), { timeout: 30_000 }).toEqual([]);
    expect((await filesOf(folder)).length).toBeGreaterThan(100); // the embedded database's too
    expect(await clearIn(folder)).toEqual([]);
    expect(Object.values(SECRETS).filter(value => logged.includes(value))).toEqual([]);
    await sessions.deleteProfile('ada', 'copy');
    expect(await objects()).toBe(1);
    for (const name of ['work', 'work']) await sessions.deleteProfile('ada', name);
    expect(await objects()).toBe(0);
    expect(await sessions.listProfiles('ada')).toEqual([]);
    await expect(leaseOf('work', 'read-only')).rejects.toMatchObject({ code: 'profile_not_found' });
  });

  /** The files with a value in the clear, and which. */
  const clearIn = async (path: string): Promise<string[]> => {
    const clear: string[] = [];
    for (const file of await filesOf(path)) {
      const bytes = await readFile(file).catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return Buffer.alloc(0); // of a runner that is being removed
        throw error;
      });
      for (const value of Object.values(SECRETS)) if (bytes.includes(value)) clear.push(`${file}: ${value}`);
    }
    return clear;
  };
  const filesOf = async (path: string): Promise<string[]> =>
    (await readdir(path, { withFileTypes: true, recursive: true }))
      .filter(entry => entry.isFile())
      .map(entry => join(entry.parentPath, entry.name));
});
