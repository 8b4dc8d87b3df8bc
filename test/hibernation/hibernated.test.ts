import { readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { connectMcpBrowser } from '../../local/mcp-browser.ts';
import { eventually } from '../eventually.ts';
import { found, logIn } from '../profiles/member.ts';
import { LOGGED_IN } from '../site/member-site.ts';
import { age, hibernated, hibernateOnOneStack, kindsOf, leaseOf, on, pidOf } from './hibernating-stack.ts';

const PASSWORD = 'correct-horse-battery';

describe('a hibernated session on real browsers', () => {
  hibernateOnOneStack();

  it('[B4] comes back on another runner with its login, its tabs and their sessionStorage, by a call of the lease that had it', async () => {
    const lease = await leaseOf('tabs');
    await logIn(on.site, lease);
    const before = await on.sessions.get(lease.sessionId);
    {
      await using browser = await connectMcpBrowser(lease);
      await browser.goto(`${on.site.url}/one`);
      await browser.evaluate("() => { sessionStorage.setItem('step', '2'); return true }");
      await browser.call('browser_tabs', { action: 'new' });
      await browser.goto(`${on.site.url}/two`);
      await browser.call('browser_tabs', { action: 'new' });
      await browser.call('browser_tabs', { action: 'select', index: 0 });
    }
    const connected = await lease.connect();
    await hibernated(lease.sessionId);
    await lease.heartbeat(); // the lease is held, and the session stays hibernated
    expect(await on.sessions.get(lease.sessionId)).toMatchObject({ status: 'hibernated', mcp_url: null, epoch: 1 });
    const { text } = await connected.callTool('browser_tabs', { action: 'list' });
    expect(text.match(/\/one|\/two|about:blank|\(current\)/g)).toEqual(['(current)', '/one', '/two', 'about:blank']);
    expect(lease.epoch).toBe(2);
    expect((await on.sessions.get(lease.sessionId)).runner_id).not.toBe(before.runner_id);
    await using browser = await connectMcpBrowser(lease);
    const seen = "() => [location.pathname, sessionStorage.getItem('step'), history.length]";
    expect(await browser.evaluate(seen)).toEqual(['/one', '2', 1]);
    expect(await found(on.site, lease)).toEqual(LOGGED_IN);
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
      await browser.goto(`${on.site.url}/mine`);
    }
    await hibernated(first.sessionId);
    const second = await leaseOf('second', 'work');
    await logIn(on.site, second);
    await expect(leaseOf('first')).rejects.toMatchObject({ code: 'profile_in_use' });
    await second.end();
    await first.release();
    const back = await leaseOf('first');
    await using browser = await connectMcpBrowser(back);
    expect(await browser.evaluate('() => location.pathname')).toBe('/mine');
    expect(await found(on.site, back)).toEqual(LOGGED_IN);
    await back.end();
  });

  it('guards what a password was filled into before, also after it came back', async () => {
    await on.sessions.putCredential('ada', 'keeping', { username: 'ada', password: PASSWORD });
    const lease = await leaseOf('secret');
    const fill = {
      fields: [{ name: 'Password', type: 'textbox', target: 'input[type=password]', value: 'KEEPING_PASSWORD' }],
    };
    {
      await using browser = await connectMcpBrowser(lease);
      await browser.goto(`${on.keepingUrl}/?form`);
      await browser.call('browser_fill_form', fill);
    }
    await hibernated(lease.sessionId);
    await lease.release();
    const stored = await on.database.query('select (select json_agg(s) from omicron.browser_sessions s)::text as all');
    expect(JSON.stringify(stored)).not.toContain(PASSWORD);
    const back = await leaseOf('secret');
    await using browser = await connectMcpBrowser(back);
    await expect(browser.evaluate("() => localStorage.getItem('kept').split('').reverse().join('')")).rejects.toThrow();
    await back.end();
    await on.sessions.deleteCredential('ada', 'keeping');
  });

  it('is hibernated when its runner is asked to leave, and lost with nothing half kept when it is killed instead', async () => {
    const told = await leaseOf('told');
    await logIn(on.site, told);
    await found(on.site, told); // or the page would log in again
    process.kill(await pidOf(told.sessionId), 'SIGTERM');
    await eventually('hibernation', async () => (await on.sessions.get(told.sessionId)).status === 'hibernated');
    await told.release();
    const back = await leaseOf('told');
    expect(await found(on.site, back)).toEqual(LOGGED_IN);

    await using browser = await connectMcpBrowser(back);
    await browser.evaluate("() => { localStorage.setItem('bulk', '0123456789'.repeat(400_000)); return true }");
    const pid = await pidOf(back.sessionId);
    await age(back.sessionId);
    await eventually('a save', async () => {
      const writing = await on.database.query(`select from omicron.profile_objects where state = 'writing'`);
      return writing.length > 0 || (await on.sessions.get(back.sessionId)).status !== 'ready';
    });
    process.kill(pid, 'SIGKILL');
    const after = await eventually('the end', async () => {
      const { status } = await on.sessions.get(back.sessionId);
      return status !== 'ready' && status;
    });
    await back.release();
    const next = await leaseOf('told');
    if (after === 'hibernated') expect(await found(on.site, next)).toEqual(LOGGED_IN);
    else expect(await kindsOf(back.sessionId)).not.toContain('session.hibernate_failed');
    await next.end();
  });

  it('says why it ended where nothing of it could be saved as its machine went away, and keeps the last version', async () => {
    const lease = await leaseOf('unsaved', 'unsaved');
    await logIn(on.site, lease);
    await on.sessions.saveProfile('ada', 'unsaved');
    {
      await using browser = await connectMcpBrowser(lease);
      await browser.evaluate("() => { localStorage.setItem('token', 'newer'); return true }");
    }
    const pid = await pidOf(lease.sessionId);
    const store = join(on.folder, 'profiles');
    await rename(store, `${store}.away`);
    await writeFile(store, 'no folder');
    try {
      process.kill(pid, 'SIGTERM');
      const ended = await eventually('the end', async () => {
        const session = await on.sessions.get(lease.sessionId);
        return session.status !== 'ready' && session;
      });
      const error = expect.stringContaining('Request a new lease');
      expect(ended).toMatchObject({ status: 'error', ended_reason: 'runner_lost', mcp_url: null, error });
      const { events } = await on.sessions.listEvents(lease.sessionId, { limit: 200 });
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
    expect(await found(on.site, next)).toEqual(LOGGED_IN);
    await next.end();
    await eventually('the last save', () => on.sessions.deleteProfile('ada', 'unsaved').then(() => true));
  });

  it('leaves nothing once it has ended', async () => {
    const lease = await leaseOf('ended');
    await logIn(on.site, lease);
    await hibernated(lease.sessionId);
    expect((await on.sessions.list({ status: 'hibernated' })).sessions.map(({ session_id }) => session_id)).toEqual([
      lease.sessionId,
    ]);
    const metrics = await (await fetch(`${on.stack.url}/metrics`)).text();
    expect(metrics).toMatch(/^omicron_hibernated_sessions 1$/m);
    expect(metrics).toMatch(/^omicron_hibernations_total\{change="hibernated"\} [1-9]/m);
    expect(metrics).toMatch(/^omicron_hibernations_total\{change="restored"\} [1-9]/m);
    expect(await on.sessions.listProfiles('ada')).toEqual([expect.objectContaining({ name: 'work' })]); // no private one
    await lease.end();
    await on.sessions.deleteProfile('ada', 'work');
    const objects = async () =>
      (await readdir(join(on.folder, 'profiles'), { withFileTypes: true, recursive: true })).filter(each =>
        each.isFile(),
      );
    expect(await objects()).toEqual([]);
    const left = 'select user_id from omicron.profiles union all select user_id from omicron.profile_keys';
    expect(await on.database.query(left)).toEqual([]);
  });
});
