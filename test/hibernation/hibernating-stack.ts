import { rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll } from 'vitest';
import { BrowserSessions } from '../../client/browser-sessions.ts';
import { ENV } from '../../contract/names.ts';
import type { Database } from '../../controller/ports/database.ts';
import { postgresDatabase } from '../../controller/store/postgres.ts';
import { type Stack, startStack } from '../../local/stack.ts';
import { eventually } from '../eventually.ts';
import { newFolder, runnerPid, shell } from '../local/machine.ts';
import { migratedDatabaseUrl } from '../postgres.ts';
import { type MemberSite, startMemberSite } from '../site/member-site.ts';

export const CAPACITY = 3;

/** A site whose page keeps what is typed into its password field. */
const KEEPING = `<!doctype html><title>Sign in</title><form><input name="user" aria-label="User">
<input type="password" aria-label="Password" oninput="localStorage.setItem('kept', this.value)"></form>`;

/** Its answer never comes. */
export const SLOW = '/slow';

export const slowAsked = Promise.withResolvers<void>();
const keeping = createServer((request, response) => {
  if (request.url === SLOW) slowAsked.resolve();
  else response.writeHead(200, { 'content-type': 'text/html' }).end(KEEPING);
});

/** One stack for the tests of a file, with real browsers. */
export const on = {} as {
  folder: string;
  stack: Stack;
  sessions: BrowserSessions;
  site: MemberSite;
  database: Database;
  /** The site whose page keeps a password. */
  keepingUrl: string;
};

export function hibernateOnOneStack(): void {
  beforeAll(async () => {
    on.folder = await newFolder();
    on.site = await startMemberSite();
    await new Promise<void>(done => keeping.listen(0, '127.0.0.1', done));
    on.keepingUrl = `http://127.0.0.1:${(keeping.address() as AddressInfo).port}`; // it listens on TCP
    const databaseUrl = await migratedDatabaseUrl();
    const settings = {
      [ENV.reapSeconds]: '0.2',
      [ENV.userLimit]: '2',
      [ENV.onUserLimit]: 'evict_oldest',
      [ENV.capacity]: String(CAPACITY),
    };
    const runnerEnv = { ...shell(), [ENV.insecureLoginOrigins]: on.keepingUrl };
    const log = pino({ level: 'silent' });
    on.stack = await startStack({
      folder: on.folder,
      log,
      databaseUrl,
      egress: 'off',
      poolIdle: 1,
      settings,
      runnerEnv,
    });
    on.sessions = new BrowserSessions(on.stack);
    on.database = postgresDatabase({ url: databaseUrl, connectionsMax: 2, log });
  });
  afterAll(async () => {
    await on.stack.stop();
    await on.database.close();
    await on.site[Symbol.asyncDispose]();
    keeping.close();
    await rm(on.folder, { recursive: true, force: true });
  });

  /** Each test has every place, also after one that failed. */
  afterEach(async () => {
    const { sessions: all } = await on.sessions.list();
    await Promise.all(all.map(({ session_id }) => on.sessions.end(session_id)));
  });
}

export const leaseOf = (conversationId: string, profile?: string, userId = 'ada') =>
  on.sessions.acquire({ userId, conversationId, recordVideo: false, profile, hibernate: 'expiry' });
/** As if nothing had used the session, so that its lease is about to expire. */
export const age = (sessionId: string) =>
  on.database.query(
    `update omicron.browser_sessions set last_used_at = clock_timestamp() - interval '1 hour',
       expires_at = clock_timestamp() + interval '15 seconds' where id = $1 and status = 'ready'`,
    [sessionId],
  );
/** A late report of its runner is a use, so it is made old again until it is believed. */
export const hibernated = (sessionId: string) =>
  eventually('hibernation', async () => {
    await age(sessionId);
    return (await on.sessions.get(sessionId)).status === 'hibernated';
  });
export const pidOf = async (sessionId: string): Promise<number> => {
  const { runner_id } = await on.sessions.get(sessionId);
  return runnerPid(on.folder, runner_id ?? '');
};
export const kindsOf = async (sessionId: string) =>
  (await on.sessions.listEvents(sessionId, { limit: 200 })).events.map(({ kind }) => kind);
