import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import type { BrowserSessions } from '../../client/browser-sessions.ts';
import type { Lease } from '../../client/lease.ts';
import { SITES } from '../../cluster/fixtures/objects.ts';
import { kubectl } from '../../cluster/kubectl.ts';
import { store } from '../../cluster/store.ts';
import { NAMESPACES, runnerName } from '../../contract/names.ts';
import type { Session } from '../../contract/session.ts';
import { connectMcpBrowser, type McpBrowser } from '../../local/mcp-browser.ts';
import { waitForRecordings } from '../../local/wait-for-recordings.ts';
import { eventually } from '../eventually.ts';

/** A lease with an MCP client and an open page, which knows whether it is still the same page. */
export interface Held {
  readonly userId: string;
  readonly recorded: boolean;
  readonly lease: Lease;
  readonly browser: McpBrowser;
  readonly pod: { readonly name: string; readonly uid: string };
  lost: boolean;
}

const CONVERSATION = 'c';
const START_SECONDS = 120;
const UPLOAD_SECONDS = 120;

/** A drained node hibernates sessions whose platform asked for it. */
const requestOf = (userId: string) =>
  ({ userId, conversationId: CONVERSATION, waitSeconds: START_SECONDS, hibernate: 'node' }) as const;

/** Leases for that user, connects, and opens a page. */
export async function hold(
  sessions: BrowserSessions,
  { userId = `fault-${randomUUID()}`, recorded = false } = {},
): Promise<Held> {
  const request = { ...requestOf(userId), recordVideo: recorded };
  return holdLease(sessions, { userId, recorded, lease: await sessions.acquire(request) });
}

export async function holdLease(
  sessions: BrowserSessions,
  { userId, recorded, lease }: Pick<Held, 'userId' | 'recorded' | 'lease'>,
): Promise<Held> {
  const browser = await connectMcpBrowser(lease);
  await browser.goto(`${SITES.site}/login`); // a static page: recording a moving one would load two cores
  await browser.evaluate(`() => { window.mark = '${userId}'; return true; }`);
  const name = runnerName((await sessions.get(lease.sessionId)).runner_id ?? '');
  const uid = ['-n', NAMESPACES.runners, 'get', 'pod', name, '-o', 'jsonpath={.metadata.uid}'];
  return { userId, recorded, lease, browser, pod: { name, uid: await kubectl(uid) }, lost: false };
}

/** The connected client still sees its page. */
export async function seesItsPage({ browser, userId }: Held): Promise<void> {
  expect(await browser.evaluate('() => window.mark')).toBe(userId);
}

/** The same browser still serves: the connected client sees its page, and asking again answers the same lease. */
export async function stillServes(sessions: BrowserSessions, held: Held): Promise<void> {
  await seesItsPage(held);
  const { userId, recorded, lease } = held;
  const request = { ...requestOf(userId), recordVideo: recorded };
  const { sessionId, epoch, mcpUrl } = await sessions.acquire(request);
  expect({ sessionId, epoch, mcpUrl }).toEqual({
    sessionId: lease.sessionId,
    epoch: lease.epoch,
    mcpUrl: lease.mcpUrl,
  });
  await lease.heartbeat();
  expect(lease.signal.aborted).toBe(false);
}

/** Waits until the session is an error because its runner was lost, and answers it. */
export async function losesItsRunner(sessions: BrowserSessions, held: Held, withinMs = 60_000): Promise<Session> {
  const session = await eventually(
    'the session is an error',
    async () => {
      const now = await sessions.get(held.lease.sessionId);
      return now.status === 'error' && now;
    },
    withinMs,
  );
  held.lost = true;
  expect(session).toMatchObject({ ended_reason: 'runner_lost', epoch: held.lease.epoch });
  expect(session.error).toMatch(/Request a new lease/);
  return session;
}

/** The traces of a login in the browser of a held lease. */
const LOGIN = 'login=kept';

/** Logs in, ends the pod as `machineGoes` says, and waits until the session is hibernated. */
export async function hibernatesWith(
  { browser, lease }: Held,
  sessions: BrowserSessions,
  machineGoes: () => Promise<unknown>,
): Promise<void> {
  await browser.evaluate(`() => { document.cookie = '${LOGIN}; max-age=3600'; return true; }`);
  await machineGoes();
  await eventually(
    'the session is hibernated',
    async () => (await sessions.get(lease.sessionId)).status === 'hibernated',
    60_000,
  );
}

/** Asking again brings a hibernated session back on another runner, with its tab and its login. */
export async function comesBack(sessions: BrowserSessions, { userId, lease }: Held): Promise<Held> {
  const request = { ...requestOf(userId), recordVideo: false };
  const next = await sessions.acquire(request);
  expect(next.sessionId).toBe(lease.sessionId);
  expect(next.epoch).toBeGreaterThan(lease.epoch);
  expect(next.mcpUrl).not.toBe(lease.mcpUrl);
  {
    await using browser = await connectMcpBrowser(next);
    expect(await browser.evaluate('() => [location.href, document.cookie]')).toEqual([`${SITES.site}/login`, LOGIN]);
  }
  return holdLease(sessions, { userId, recorded: false, lease: next });
}

/** Asking again gives the session a new epoch with a browser of its own. */
export async function startsAgain(sessions: BrowserSessions, { userId, lease }: Held): Promise<Held> {
  const next = await hold(sessions, { userId });
  expect(next.lease.sessionId).toBe(lease.sessionId);
  expect(next.lease.epoch).toBeGreaterThan(lease.epoch);
  expect(next.lease.mcpUrl).not.toBe(lease.mcpUrl);
  return next;
}

/** Whether the recording of an ended lease is in the bucket; else its loss must be written down with a reason. */
export async function videoStored(sessions: BrowserSessions, { lease }: Held): Promise<boolean> {
  const { sessionId, epoch } = lease;
  const found = await waitForRecordings(sessions, { sessionId, epoch, withinSeconds: UPLOAD_SECONDS });
  const keys = (await store.list()).objects.map(({ key }) => key);
  for (const { state, uri, reason } of found)
    if (state === 'stored') expect(keys).toContain(new URL(uri ?? '').pathname.slice(1));
    else expect(reason).toMatch(/.{10}/);
  return found.every(({ state }) => state === 'stored');
}
