import { rm } from 'node:fs/promises';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BrowserSessions } from '../../client/browser-sessions.ts';
import { ENV } from '../../contract/names.ts';
import { connectBrowser } from '../../local/mcp-browser.ts';
import { type Stack, startStack } from '../../local/stack.ts';
import { eventually } from '../eventually.ts';
import { newFolder, shell } from '../local/machine.ts';
import { connection, emptyDatabaseUrl } from '../postgres.ts';
import { found, logIn } from '../profiles/member.ts';
import { LOGGED_IN, type MemberSite, startMemberSite } from '../site/member-site.ts';

const HOUR = 3_600;

describe('a hibernated session on real browsers', () => {
  let folder: string;
  let stack: Stack;
  let sessions: BrowserSessions;
  let site: MemberSite;
  let database: Awaited<ReturnType<typeof connection>>;
  beforeAll(async () => {
    folder = await newFolder();
    site = await startMemberSite();
    const databaseUrl = await emptyDatabaseUrl();
    const settings = { [ENV.hibernateSeconds]: String(HOUR), [ENV.reapSeconds]: '0.2', [ENV.userLimit]: '10' };
    const log = pino({ level: 'debug' }, pino.destination('/tmp/hib.log'));
    stack = await startStack({ folder, log, databaseUrl, egress: 'off', poolIdle: 1, settings, runnerEnv: shell() });
    sessions = new BrowserSessions(stack);
    database = await connection(databaseUrl);
  });
  afterAll(async () => {
    await stack.stop();
    await site[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  const leaseOf = (conversationId: string) => sessions.acquire({ userId: 'ada', conversationId, recordVideo: false });

  /** As if the session had not been used for two hours. */
  const hibernated = (sessionId: string) =>
    eventually('hibernation', async () => {
      await database.query(
        "update omicron.browser_sessions set active_at = active_at - interval '2 hours' where id = $1",
        [sessionId],
      );
      return (await sessions.get(sessionId)).status === 'hibernated';
    });

  it('comes back on another runner with its login, its tabs and their sessionStorage', async () => {
    const first = await leaseOf('tabs');
    await logIn(site, first);
    const { runner_id } = await sessions.get(first.sessionId);
    {
      await using browser = await connectBrowser(first);
      await browser.goto(`${site.url}/one`);
      await browser.evaluate("() => { sessionStorage.setItem('step', '2'); return true }");
      await browser.call('browser_tabs', { action: 'new' });
      await browser.goto(`${site.url}/two`);
      await browser.call('browser_tabs', { action: 'new' });
      await browser.call('browser_tabs', { action: 'select', index: 0 });
    }
    await hibernated(first.sessionId);
    await first.release();
    const beganMs = performance.now();
    const second = await leaseOf('tabs');
    console.log('back in', performance.now() - beganMs);
    expect(second.sessionId).toBe(first.sessionId);
    expect((await sessions.get(second.sessionId)).runner_id).not.toBe(runner_id);
    await using browser = await connectBrowser(second);
    const { text } = await browser.call('browser_tabs', { action: 'list' });
    console.log(text);
    expect(await browser.evaluate("() => [location.pathname, sessionStorage.getItem('step'), history.length]")).toEqual(
      ['/one', '2', 1],
    );
    expect(await found(site, second)).toEqual(LOGGED_IN);
    const { events } = await sessions.listEvents(first.sessionId);
    console.log(events.map(e => [e.kind, JSON.stringify(e.data)].join(' ')).join('\n'));
    await second.end();
  });
});
