import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { BrowserSessions } from '../../client/browser-sessions.ts';
import { ENV } from '../../contract/names.ts';
import type { Database } from '../../controller/ports/database.ts';
import { postgresDatabase } from '../../controller/store/postgres.ts';
import { connectMcpBrowser } from '../../local/mcp-browser.ts';
import { type Stack, startStack } from '../../local/stack.ts';
import { eventually } from '../eventually.ts';
import { newFolder, shell } from '../local/machine.ts';
import { migratedDatabaseUrl } from '../postgres.ts';
import { found, logIn } from '../profiles/member.ts';
import { LOGGED_IN, type MemberSite, startMemberSite } from '../site/member-site.ts';

const CAPACITY = 3;
const PASSWORD = 'correct-horse-battery';

/** A site whose page keeps what is typed into its password field. */
const KEEPING = `<!doctype html><title>Sign in</title><form><input name="user" aria-label="User">
<input type="password" aria-label="Password" oninput="localStorage.setItem('kept', this.value)"></form>`;

/** Its answer never comes. */
const SLOW = '/slow';

describe('a hibernated session on real browsers', () => {
  const slowAsked = Promise.withResolvers<void>();
  const keeping = createServer((request, response) => {
    if (request.url === SLOW) slowAsked.resolve();
    else response.writeHead(200, { 'content-type': 'text/html' }).end(KEEPING);
  });
  let keepingUrl = '';
  let folder: string;
  let stack: Stack;
  let sessions: BrowserSessions;
  let site: MemberSite;
  let database: Database;
  beforeAll(async () => {
    folder = await newFolder();
    site = await startMemberSite();
    await new Promise<void>(done => keeping.listen(0, '127.0.0.1', done));
    keepingUrl = `http://127.0.0.1:${(keeping.address() as AddressInfo).port}`; // it listens on TCP
    const databaseUrl = await migratedDatabaseUrl();
    const settings = {
      [ENV.reapSeconds]: '0.2',
      [ENV.userLimit]: '2',
      [ENV.onUserLimit]: 'evict_oldest',
      [ENV.capacity]: String(CAPACITY),
    };
    const runnerEnv = { ...shell(), [ENV.insecureLoginOrigins]: keepingUrl };
    const log = pino({ level: 'silent' });
    stack = await startStack({ folder, log, databaseUrl, egress: 'off', poolIdle: 1, settings, runnerEnv });
    sessions = new BrowserSessions(stack);
    database = postgresDatabase({ url: databaseUrl, connectionsMax: 2, log });
  });
  afterAll(async () => {
    await stack.stop();
    await database.close();
    await site[Symbol.asyncDispose]();
    keeping.close();
    await rm(folder, { recursive: true, force: true });
  });

  /** Each test has every place, also after one that failed. */
  afterEach(async () => {
    const { sessions: all } = await sessions.list();
    await Promise.all(all.map(({ session_id }) => sessions.end(session_id)));
  });

  const leaseOf = (conversationId: string, profile?: string, userId = 'ada') =>
    sessions.acquire({ userId, conversationId, recordVideo: false, profile, hibernate: 'expiry' });
  /** As if nothing had used the session, so that its lease is about to expire. */
  const age = (sessionId: string) =>
    database.query(
      `update omicron.browser_sessions set last_used_at = clock_timestamp() - interval '1 hour',
         expires_at = clock_timestamp() + interval '15 seconds' where id = $1 and status = 'ready'`,
      [sessionId],
    );
  /** A late report of its runner is a use, so it is made old again until it is believed. */
  const hibernated = (sessionId: string) =>
    eventually('hibernation', async () => {
      await age(sessionId);
      return (await sessions.get(sessionId)).status === 'hibernated';
    });
  const pidOf = async (sessionId: string): Promise<number> => {
    const { runner_id } = await sessions.get(sessionId);
    return JSON.parse(await readFile(join(folder, 'runners', runner_id ?? '', 'process.json'), 'utf8')).pid;
  };
  const kindsOf = async (sessionId: string) =>
    (await sessions.listEvents(sessionId, { limit: 200 })).events.map(({ kind }) => kind);

  it('[B4] comes back on another runner with its login, its tabs and their sessionStorage, by a call of the lease that had it', async () => {
    const lease = await leaseOf('tabs');
    await logIn(site, lease);
    const before = await sessions.get(lease.sessionId);
    {
      await using browser = await connectMcpBrowser(lease);
      await browser.goto(`${site.url}/one`);
      await browser.evaluate("() => { sessionStorage.setItem('step', '2'); return true }");
      await browser.call('browser_tabs', { action: 'new' });
      await browser.goto(`${site.url}/two`);
      await browser.call('browser_tabs', { action: 'new' });
      await browser.call('browser_tabs', { action: 'select', index: 0 });
    }
    const connected = await lease.connect();
    await hibernated(lease.sessionId);
    await lease.heartbeat(); // the lease is held, and the session stays hibernated
    expect(await sessions.get(lease.sessionId)).toMatchObject({ status: 'hibernated', mcp_url: null, epoch: 1 });
    const { text } = await connected.callTool('browser_tabs', { action: 'list' });
    expect(text.match(/\/one|\/two|about:blank|\(current\)/g)).toEqual(['(current)', '/one', '/two', 'about:blank']);
    expect(lease.epoch).toBe(2);
    expect((await sessions.get(lease.sessionId)).runner_id).not.toBe(before.runner_id);
    await using browser = await connectMcpBrowser(lease);
    const seen = "() => [location.pathname, sessionStorage.getItem('step'), history.length]";
    expect(await browser.evaluate(seen)).toEqual(['/one', '2', 1]);
    expect(await found(site, lease)).toEqual(LOGGED_IN);
    await eventually('its events', async () => {
      const kinds = await kindsOf(lease.sessionId);
      return (['session.hibernated', 'session.restored', 'tabs.restored'] as const).every(kind => kinds.includes(kind));
    });
    await lease.end();
  });

  it('gives its profile to another conversation meanwhile, and finds the newer logins', async () => {
    const first = await leaseOf('first', 'work');
    {
      await using browser = await connectMcpBrowser(first);
      await browser.goto(`${site.url}/mine`);
    }
    await hibernated(first.sessionId);
    const second = await leaseOf('second', 'work');
    await logIn(site, second);
    await expect(leaseOf('first')).rejects.toMatchObject({ code: 'profile_in_use' });
    await second.end();
    await first.release();
    const back = await leaseOf('first');
    await using browser = await connectMcpBrowser(back);
    expect(await browser.evaluate('() => location.pathname')).toBe('/mine');
    expect(await found(site, back)).toEqual(LOGGED_IN);
    await back.end();
  });

  it('guards what a password was filled into before, also after it came back', async () => {
    await sessions.putCredential('ada', 'keeping', { username: 'ada', password: PASSWORD });
    const lease = await leaseOf('secret');
    const fill = {
      fields: [{ name: 'Password', type: 'textbox', target: 'input[type=password]', value: 'KEEPING_PASSWORD' }],
    };
    {
      await using browser = await connectMcpBrowser(lease);
      await browser.goto(`${keepingUrl}/?form`);
      await browser.call('browser_fill_form', fill);
    }
    await hibernated(lease.sessionId);
    await lease.release();
    const stored = await database.query('select (select json_agg(s) from omicron.browser_sessions s)::text as all');
    expect(JSON.stringify(stored)).not.toContain(PASSWORD);
    const back = await leaseOf('secret');
    await using browser = await connectMcpBrowser(back);
    await expect(browser.evaluate("() => localStorage.getItem('kept').split('').reverse().join('')")).rejects.toThrow();
    await back.end();
    await sessions.deleteCredential('ada', 'keeping');
  });

  it('is hibernated when its runner is asked to leave, and lost with nothing half kept when it is killed instead', async () => {
    const told = await leaseOf('told');
    await logIn(site, told);
    await found(site, told); // or the page would log in again
    process.kill(await pidOf(told.sessionId), 'SIGTERM');
    await eventually('hibernation', async () => (await sessions.get(told.sessionId)).status === 'hibernated');
    await told.release();
    const back = await leaseOf('told');
    expect(await found(site, back)).toEqual(LOGGED_IN);

    await using browser = await connectMcpBrowser(back);
    await browser.evaluate("() => { localStorage.setItem('bulk', '0123456789'.repeat(400_000)); return true }");
    const pid = await pidOf(back.sessionId);
    await age(back.sessionId);
    await eventually('a save', async () => {
      const writing = await database.query(`select from omicron.profile_objects where state = 'writing'`);
      return writing.length > 0 || (await sessions.get(back.sessionId)).status !== 'ready';
    });
    process.kill(pid, 'SIGKILL');
    const after = await eventually('the end', async () => {
      const { status } = await sessions.get(back.sessionId);
      return status !== 'ready' && status;
    });
    await back.release();
    const next = await leaseOf('told');
    if (after === 'hibernated') expect(await found(site, next)).toEqual(LOGGED_IN);
    else expect(await kindsOf(back.sessionId)).not.toContain('session.hibernate_failed');
    await next.end();
  });

  it('says why it ended where nothing of it could be saved as its machine went away, and keeps the last version', async () => {
    const lease = await leaseOf('unsaved', 'unsaved');
    await logIn(site, lease);
    await sessions.saveProfile('ada', 'unsaved');
    {
      await using browser = await connectMcpBrowser(lease);
      await browser.evaluate("() => { localStorage.setItem('token', 'newer'); return true }");
    }
    const pid = await pidOf(lease.sessionId);
    const store = join(folder, 'profiles');
    await rename(store, `${store}.away`);
    await writeFile(store, 'no folder');
    try {
      process.kill(pid, 'SIGTERM');
      const ended = await eventually('the end', async () => {
        const session = await sessions.get(lease.sessionId);
        return session.status !== 'ready' && session;
      });
      const error = expect.stringContaining('Request a new lease');
      expect(ended).toMatchObject({ status: 'error', ended_reason: 'runner_lost', mcp_url: null, error });
      const { events } = await sessions.listEvents(lease.sessionId, { limit: 200 });
      const why = { code: 'profile_unavailable' };
      const detail = expect.stringContaining('folder of profiles cannot be used');
      expect(events).toEqual(
        expect.arrayContaining([
          expect.objectContaining({ kind: 'session.hibernate_failed', data: why }),
          expect.objectContaining({ kind: 'profile.save_failed', data: { ...why, detail } }),
        ]),
      );
    } finally {
      await rm(store);
      await rename(`${store}.away`, store);
    }
    const next = await leaseOf('next', 'unsaved');
    expect(await found(site, next)).toEqual(LOGGED_IN);
    await next.end();
    await eventually('the last save', () => sessions.deleteProfile('ada', 'unsaved').then(() => true));
  });

  it('[G2] makes room for another session where every place is taken', async () => {
    const leases = [];
    for (let place = 0; place < CAPACITY; place += 1) leases.push(await leaseOf('full', undefined, `user-${place}`));
    const [resting] = leases;
    await expect(
      sessions.acquire({ userId: 'ada', conversationId: 'one-more', recordVideo: false, waitSeconds: 1 }),
    ).rejects.toMatchObject({ code: 'capacity_exceeded' });
    await resting?.release();
    const other = await leaseOf('one-more');
    expect(await sessions.get(resting?.sessionId ?? '')).toMatchObject({ status: 'hibernated' });
    for (const lease of [...leases, other]) await lease.end();
  });

  it('[G2] makes room at its user’s quota, and a browser in use is ended for it to come back', async () => {
    const resting = await leaseOf('resting');
    await logIn(site, resting);
    await found(site, resting); // or the page would log in again
    const busy = await leaseOf('busy');
    await resting.release();
    const third = await leaseOf('third');
    expect(await sessions.get(resting.sessionId)).toMatchObject({ status: 'hibernated' });
    const { events } = await sessions.listEvents(resting.sessionId, { limit: 200 });
    expect(events.find(({ kind }) => kind === 'session.hibernated')?.data).toMatchObject({ why: 'capacity' });

    const call = (await busy.connect()).callTool('browser_navigate', { url: `${keepingUrl}${SLOW}` });
    await slowAsked.promise;
    await leaseOf('third'); // so that the busy one is the oldest
    const back = await leaseOf('resting');
    expect(await found(site, back)).toEqual(LOGGED_IN);
    expect(await sessions.get(busy.sessionId)).toMatchObject({ status: 'ended', ended_reason: 'evicted' });
    expect(await sessions.get(third.sessionId)).toMatchObject({ status: 'ready' });
    await Promise.allSettled([call]);
    for (const lease of [back, third]) await lease.end();
  });

  it('[E1] is lost with its machine, and ended for capacity, if hibernation was not asked for', async () => {
    const plain = (userId: string) => sessions.acquire({ userId, conversationId: 'plain', recordVideo: false });
    const lost = await plain('ada');
    process.kill(await pidOf(lost.sessionId), 'SIGTERM');
    const after = await eventually('the end', async () => {
      const session = await sessions.get(lost.sessionId);
      return session.status !== 'ready' && session;
    });
    expect(after).toMatchObject({ status: 'error', ended_reason: 'runner_lost' });
    const released = await plain('user-0');
    for (let place = 1; place < CAPACITY; place += 1) await plain(`user-${place}`);
    await released.release();
    await plain('one-more');
    expect(await sessions.get(released.sessionId)).toMatchObject({ status: 'ended', ended_reason: 'evicted' });
  });

  it('leaves nothing once it has ended', async () => {
    const lease = await leaseOf('ended');
    await logIn(site, lease);
    await hibernated(lease.sessionId);
    expect((await sessions.list({ status: 'hibernated' })).sessions.map(({ session_id }) => session_id)).toEqual([
      lease.sessionId,
    ]);
    const metrics = await (await fetch(`${stack.url}/metrics`)).text();
    expect(metrics).toMatch(/^omicron_hibernated_sessions 1$/m);
    expect(metrics).toMatch(/^omicron_hibernations_total\{change="hibernated"\} [1-9]/m);
    expect(metrics).toMatch(/^omicron_hibernations_total\{change="restored"\} [1-9]/m);
    expect(await sessions.listProfiles('ada')).toEqual([expect.objectContaining({ name: 'work' })]); // no private one
    await lease.end();
    await sessions.deleteProfile('ada', 'work');
    const objects = async () =>
      (await readdir(join(folder, 'profiles'), { withFileTypes: true, recursive: true })).filter(each => each.isFile());
    expect(await objects()).toEqual([]);
    const left = 'select user_id from omicron.profiles union all select user_id from omicron.profile_keys';
    expect(await database.query(left)).toEqual([]);
  });
});
