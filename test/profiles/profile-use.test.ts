import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { BrowserSessions } from '../../client/browser-sessions.ts';
import { connectMcpBrowser } from '../../local/mcp-browser.ts';
import { eventually } from '../eventually.ts';
import { migratedDatabaseUrl } from '../postgres.ts';
import { LOGGED_IN, LOGGED_OUT, type MemberSite } from '../site/member-site.ts';
import { found, logIn } from './member.ts';
import { type ProfileStack, startProfileStack } from './profile-stack.ts';

describe('leases, agents and checks on a profile that has a login', () => {
  let on: ProfileStack;
  let sessions: BrowserSessions;
  let site: MemberSite;
  beforeAll(async () => {
    on = await startProfileStack({ databaseUrl: await migratedDatabaseUrl() });
    ({ sessions, site } = on);
    const lease = await on.leaseOf('work');
    await logIn(site, lease);
    await lease.end();
  });
  afterAll(() => on?.[Symbol.asyncDispose]());

  it('does not save what a read-only lease did', async () => {
    const reader = await on.leaseOf('work', 'read-only');
    expect(await found(site, reader)).toEqual(LOGGED_IN);
    await using browser = await connectMcpBrowser(reader);
    await browser.evaluate("() => { localStorage.setItem('token', 'other'); return true }");
    await expect(sessions.saveProfile('ada', 'work')).rejects.toMatchObject({ code: 'lease_ended' });
    await reader.end();
    const writer = await on.leaseOf('work');
    expect(await found(site, writer)).toEqual(LOGGED_IN);
    await writer.end();
  });

  it('[D1] [D4] goes on with another profile, or none, where the conversation asks for it and no other lease has it', async () => {
    const request = { userId: 'ada', conversationId: 'switching', recordVideo: false };
    const first = await sessions.acquire({ ...request, profile: 'work' });
    expect(await found(site, first)).toEqual(LOGGED_IN);
    const second = await sessions.setProfile({ ...request, profile: 'fresh' });
    expect([second.sessionId, second.epoch]).toEqual([first.sessionId, first.epoch + 1]);
    expect(await found(site, second)).toEqual(LOGGED_OUT);
    const writer = await on.leaseOf('work'); // which the switch has given back
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
    const writer = await on.leaseOf('work');
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
    const lease = await on.leaseOf('odd');
    expect(await found(site, lease)).toEqual(LOGGED_IN);
    await lease.end();
    await eventually('the last save', () => sessions.deleteProfile('ada', 'odd').then(() => true));
  });
});
