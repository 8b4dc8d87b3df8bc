import { readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BrowserSessions } from '../../client/browser-sessions.ts';
import type { Lease } from '../../client/lease.ts';
import { ENV } from '../../contract/names.ts';
import type { ProfileForm } from '../../contract/profile.ts';
import { connectMcpBrowser } from '../../local/mcp-browser.ts';
import { type Stack, startStack } from '../../local/stack.ts';
import { eventually } from '../eventually.ts';
import { newFolder, shell } from '../local/machine.ts';
import { migratedDatabaseUrl } from '../postgres.ts';

const PASSWORD = 'correct-horse-battery';
const BLANK = ['on about:blank'];

/** A site whose page keeps what is typed into its password field. */
const PAGE = `<!doctype html><title>Sign in</title><form><input name="user" aria-label="User">
<input type="password" aria-label="Password" oninput="sessionStorage.setItem('kept', this.value)"></form>`;

describe('the tabs of a profile', () => {
  const server = createServer((_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end(PAGE));
  let site = '';
  let folder: string;
  let stack: Stack;
  let sessions: BrowserSessions;
  beforeAll(async () => {
    folder = await newFolder();
    await new Promise<void>(done => server.listen(0, '127.0.0.1', done));
    site = `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // it listens on TCP
    const runnerEnv = { ...shell(), [ENV.insecureLoginOrigins]: site, [ENV.keepPages]: 'none' };
    const settings = { [ENV.userLimit]: '10' };
    stack = await startStack({
      folder,
      databaseUrl: await migratedDatabaseUrl(),
      log: pino({ level: 'silent' }),
      egress: 'off',
      poolIdle: 2,
      settings,
      runnerEnv,
    });
    sessions = new BrowserSessions(stack);
  });
  afterAll(async () => {
    await stack.stop();
    server.close();
    await rm(folder, { recursive: true, force: true });
  });

  let conversations = 0;
  interface Asked {
    readonly profile: string;
    readonly profileTabs?: boolean;
    readonly profileMode?: 'read-only';
    readonly profileForm?: ProfileForm;
  }
  const leaseOf = (asked: Asked) => {
    conversations += 1;
    const conversationId = `c${conversations}`;
    return sessions.acquire({ userId: 'ada', conversationId, recordVideo: false, waitSeconds: 60, ...asked });
  };
  /** The path of each tab, and the one that tools act on in front. */
  const tabsOf = async (lease: Lease): Promise<string[]> => {
    await using browser = await connectMcpBrowser(lease);
    const { text } = await browser.call('browser_tabs', { action: 'list' });
    return [...text.matchAll(/^- \d+:( \(current\))? .*\((\S+)\)$/gm)].map(
      ([, current, url]) => `${current === undefined ? '' : 'on '}${(url ?? '').replace(site, '')}`,
    );
  };
  /** Three tabs, of which the second is the current one. */
  const openThree = async (lease: Lease) => {
    await using browser = await connectMcpBrowser(lease);
    await browser.goto(`${site}/one`);
    await browser.call('browser_tabs', { action: 'new' });
    await browser.goto(`${site}/two`);
    await browser.evaluate("() => { sessionStorage.setItem('step', '2'); return true }");
    await browser.call('browser_tabs', { action: 'new' });
    await browser.call('browser_tabs', { action: 'select', index: 1 });
  };

  it.each(['light', 'complete'] as const)(
    'come back with a %s one on the next runner, where both leases ask for them',
    async profileForm => {
      const profile = `tabs-${profileForm}`;
      const first = await leaseOf({ profile, profileForm, profileTabs: true });
      await openThree(first);
      await first.end();
      const second = await leaseOf({ profile, profileForm, profileTabs: true });
      expect(await tabsOf(second)).toEqual(['/one', 'on /two', 'about:blank']);
      await using browser = await connectMcpBrowser(second);
      const seen = "() => [location.pathname, sessionStorage.getItem('step'), history.length]";
      expect(await browser.evaluate(seen)).toEqual(['/two', '2', 1]);
      await second.end();
    },
  );

  it('stay in it as they are when a lease does not ask for them, and come with an older version', async () => {
    const profile = 'kept';
    const first = await leaseOf({ profile, profileTabs: true });
    await openThree(first);
    await first.end();
    const other = await leaseOf({ profile });
    expect(await tabsOf(other)).toEqual(BLANK);
    {
      await using browser = await connectMcpBrowser(other);
      await browser.goto(`${site}/other`);
      await browser.evaluate("() => { localStorage.setItem('seen', 'yes'); return true }");
    }
    await other.end();
    const reader = await leaseOf({ profile, profileTabs: true, profileMode: 'read-only' });
    expect(await tabsOf(reader)).toEqual(['/one', 'on /two', 'about:blank']);
    {
      await using browser = await connectMcpBrowser(reader);
      expect(await browser.evaluate("() => localStorage.getItem('seen')")).toBe('yes');
    }
    await reader.end();
    expect(await sessions.getProfile('ada', profile)).toMatchObject({ version: 2 });
    await sessions.importProfile('ada', profile, await sessions.exportProfile('ada', profile));
    const imported = await leaseOf({ profile, profileTabs: true, profileMode: 'read-only' });
    expect(await tabsOf(imported)).toEqual(BLANK); // a storageState has none
    await imported.end();
    await sessions.restoreProfile('ada', profile, 1);
    const restored = await leaseOf({ profile, profileTabs: true });
    expect(await tabsOf(restored)).toEqual(['/one', 'on /two', 'about:blank']);
    await restored.end();
  });

  it('survive a runner that is killed after a save', async () => {
    const profile = 'killed';
    const lease = await leaseOf({ profile, profileTabs: true });
    await openThree(lease);
    await sessions.saveProfile('ada', profile);
    const { runner_id } = await sessions.get(lease.sessionId);
    const started = join(folder, 'runners', runner_id ?? '', 'process.json');
    process.kill(JSON.parse(await readFile(started, 'utf8')).pid, 'SIGKILL');
    await eventually('the end of the lease', async () => (await sessions.get(lease.sessionId)).status === 'error');
    const next = await leaseOf({ profile, profileTabs: true });
    expect(await tabsOf(next)).toEqual(['/one', 'on /two', 'about:blank']);
    await next.end();
  });

  it('hold no password that a site kept in them', async () => {
    const profile = 'secret';
    await sessions.putCredential('ada', 'keeping', { username: 'ada', password: PASSWORD });
    const first = await leaseOf({ profile, profileTabs: true });
    {
      await using browser = await connectMcpBrowser(first);
      await browser.goto(`${site}/form`);
      await browser.evaluate("() => { sessionStorage.setItem('step', '1'); return true }");
      const fields = [{ name: 'Password', type: 'textbox', target: 'input[type=password]', value: 'KEEPING_PASSWORD' }];
      await browser.call('browser_fill_form', { fields });
    }
    await first.end();
    await sessions.deleteCredential('ada', 'keeping');
    const next = await leaseOf({ profile, profileTabs: true });
    await using browser = await connectMcpBrowser(next);
    const seen = "() => [location.pathname, sessionStorage.getItem('step'), sessionStorage.getItem('kept')]";
    expect(await browser.evaluate(seen)).toEqual(['/form', '1', null]);
    await next.end();
  });
});
