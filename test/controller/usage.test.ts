import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCommand } from '../../cli/program.ts';
import { BrowserSessions } from '../../client/browser-sessions.ts';
import { ENV } from '../../contract/names.ts';
import type { LeaseAnswer, Tags } from '../../contract/session.ts';
import { sqlUsage } from '../../controller/store/usage.ts';
import { type Stack, startStack } from './stack.ts';

const DAY = { since: '2026-05-01T00:00:00.000Z', until: '2026-05-02T00:00:00.000Z' };
const DAY_QUERY = `since=${DAY.since}&until=${DAY.until}`;

// Usage of the day, as `useDay` makes it.
const ADA = { sessions: 2, leases: 3, lease_seconds: 1_290.5, artifacts: 2, artifact_bytes: 1_500 };
const BOB = { sessions: 1, leases: 1, lease_seconds: 30, artifacts: 0, artifact_bytes: 0 };
const TOTAL = { sessions: 3, leases: 4, lease_seconds: 1_320.5, artifacts: 2, artifact_bytes: 1_500 };

interface Use {
  readonly tags?: Tags;
  readonly from: string;
  readonly to: string;
  readonly artifacts?: readonly (readonly [state: string, bytes: number | null, at: string])[];
}

let stack: Stack;
let sessions: BrowserSessions;
let searched: LeaseAnswer;
beforeAll(async () => {
  stack = await startStack({ [ENV.userLimit]: 5 });
  sessions = new BrowserSessions({ url: stack.url, serviceSecret: stack.settings.serviceSecret });
  searched = await useDay();
});
afterAll(() => stack?.[Symbol.asyncDispose]());

/** A lease that is over, and what it stored. */
async function useLease(user_id: string, conversation_id: string, { tags, from, to, artifacts = [] }: Use) {
  const lease = await stack.lease({ user_id, conversation_id, tags, record_video: false });
  await sessions.end(lease.session_id);
  const [runner] = await stack.database.query<{ id: string }>(
    `update omicron.runners set redeemed_at = $3, draining_at = $4 where session_id = $1 and epoch = $2 returning id`,
    [lease.session_id, lease.epoch, from, to],
  );
  for (const [index, [state, bytes, at]] of artifacts.entries())
    await stack.database.query(
      `insert into omicron.artifacts (session_id, epoch, runner_id, name, state, uri, bytes, reason, created_at)
         values ($1, $2, $3, $4, $5, 'file:///a', $6, 'why', $7)`,
      [lease.session_id, lease.epoch, runner?.id, `tab-${index}.webm`, state, bytes, at],
    );
  return lease;
}

/** Resolves with the first lease, the only one with the tag `team: search`. */
async function useDay(): Promise<LeaseAnswer> {
  const first = await useLease('ada', 'c1', {
    ...{ tags: { team: 'search' }, from: '2026-05-01T10:00:00Z', to: '2026-05-01T10:10:00Z' },
    artifacts: [
      ['stored', 1_000, '2026-05-01T10:11:00Z'],
      ['expired', 500, '2026-05-01T10:11:00Z'],
      ['lost', null, '2026-05-01T10:11:00Z'],
      ['stored', 7, '2026-05-03T00:00:00Z'],
    ],
  });
  // The next lease of the same session ends ten seconds into the next day.
  await useLease('ada', 'c1', { from: '2026-05-01T23:50:00Z', to: '2026-05-02T00:00:10Z' });
  const mail = { team: 'mail' };
  await useLease('ada', 'c2', { tags: mail, from: '2026-05-01T12:00:00Z', to: '2026-05-01T12:01:30.500Z' });
  await useLease('bob', 'c3', { from: '2026-05-01T12:00:00Z', to: '2026-05-01T12:00:30Z' });
  await useLease('bob', 'c4', { from: '2026-04-30T12:00:00Z', to: '2026-04-30T13:00:00Z' });
  return first;
}

it('[B7] sessions have tags, are searched by them, and usage is counted per user and per tag', async () => {
  const found = await sessions.list({ tags: { team: 'search' } });
  expect(found.sessions).toMatchObject([{ session_id: searched.session_id, tags: { team: 'search' } }]);
  expect(await sessions.getUsage(DAY)).toEqual({
    ...{ ...DAY, by: 'user', total: TOTAL },
    usage: [
      { name: 'ada', ...ADA },
      { name: 'bob', ...BOB },
    ],
  });
  expect((await sessions.getUsage({ ...DAY, by: 'tag:team' })).usage).toMatchObject([
    { name: 'search', leases: 2, lease_seconds: 1_200 },
    { name: 'mail', leases: 1, lease_seconds: 90.5 },
    { name: null, leases: 1, lease_seconds: 30 },
  ]);
});

describe('usage', () => {
  it('has as many rows as asked for, and the total of all', async () => {
    expect(await sessions.getUsage({ ...DAY, limit: 1 })).toMatchObject({
      usage: [{ name: 'ada', ...ADA }],
      total: TOTAL,
    });
    expect((await sessions.getUsage({ ...DAY, limit: 1 })).usage).toHaveLength(1);
  });

  it('can be limited to one user, or to sessions with a tag', async () => {
    expect(await sessions.getUsage({ ...DAY, userId: 'bob' })).toMatchObject({ usage: [{ name: 'bob' }], total: BOB });
    const mail = await sessions.getUsage({ ...DAY, tags: { team: 'mail' } });
    expect(mail.usage).toMatchObject([{ name: 'ada', sessions: 1, lease_seconds: 90.5 }]);
  });

  it('counts a live lease until now', async () => {
    await stack.lease({ user_id: 'eve', conversation_id: 'now' });
    const now = await sessions.getUsage({ userId: 'eve', until: '2999-01-01T00:00:00Z' });
    expect(now.usage).toMatchObject([{ name: 'eve', sessions: 1, leases: 1 }]);
    expect(Date.parse(now.until)).toBeLessThanOrEqual(Date.now() + 1_000);
  });

  it('is zero for a time without leases', async () => {
    const long = { since: '2000-01-01T00:00:00Z', until: '2000-01-02T00:00:00Z' };
    expect(await sessions.getUsage(long)).toMatchObject({ usage: [], total: { sessions: 0, lease_seconds: 0 } });
  });

  it('counts each lease by its part of the period, however long ago it began', async () => {
    const times = {
      short: ['09:30', '10:05'],
      long: ['02:00', '10:10'],
      before: ['08:00', '10:00'],
      after: ['11:00', '11:05'],
    };
    for (const [name, [from, to]] of Object.entries(times))
      await useLease('max', name, { from: `2026-03-01T${from}:00Z`, to: `2026-03-01T${to}:00Z` });
    const { session_id } = await stack.lease({ user_id: 'max', conversation_id: 'live', record_video: false });
    const redeem = (at: string) =>
      stack.database.query('update omicron.runners set redeemed_at = $2 where session_id = $1', [session_id, at]);
    await redeem('2026-02-26T00:00:00Z');
    const hour = { since: '2026-03-01T10:00:00.000Z', until: '2026-03-01T11:00:00.000Z' };
    const used = { sessions: 3, leases: 3, lease_seconds: 300 + 600 + 3_600 };
    for (const query of [hour, { ...hour, userId: 'max' }])
      expect(await sessions.getUsage(query)).toMatchObject({ ...hour, usage: [{ name: 'max', ...used }], total: used });
    await redeem(new Date().toISOString());
  });

  it('is refused for a period with more than can be counted, and names the one that can be', async () => {
    const usage = sqlUsage(stack.database, 3);
    const day = { ...DAY, by: 'user', limit: 10 };
    await expect(usage.report(day)).rejects.toMatchObject({
      code: 'invalid_request',
      message: expect.stringContaining(
        'more than 3 leases or artifacts. With the same end, it can be counted from 2026-05-01T10:00:00.001Z',
      ),
      extra: { errors: [{ path: 'since', message: 'must be 2026-05-01T10:00:00.001Z or later' }] },
    });
    const { total } = await usage.report({ ...day, since: '2026-05-01T10:00:00.001Z' });
    expect(total).toMatchObject({ leases: 4, lease_seconds: 1_290.5 + 30 - 0.001 });
    expect((await usage.report({ ...day, user_id: 'bob' })).total).toEqual(BOB);
    await expect(
      sqlUsage(stack.database, 1).report({ ...day, since: '2026-05-01T10:11:00Z', until: '2026-05-01T12:00:00Z' }),
    ).rejects.toThrow('it can be counted from 2026-05-01T10:11:00.001Z');
  });

  it('is refused to a user who asks for another’s', async () => {
    const usage = `/internal/usage?${DAY_QUERY}`;
    expect((await stack.call('GET', usage, { user: 'bob' })).body).toMatchObject({ total: BOB });
    expect((await stack.call('GET', `${usage}&user_id=ada`, { user: 'bob' })).status).toBe(403);
  });

  it.each([
    ...['by=team', 'by=tag:a%20b', 'since=yesterday', 'limit=0'],
    ...['since=0000-01-01T00:00:00Z', 'until=0001-01-01T00:00:00Z', 'since=9999-12-31T23:59:59-14:00'],
  ])('refuses %s', async query => {
    expect((await stack.call('GET', `/internal/usage?${query}`)).status).toBe(400);
  });

  it('takes a time of another zone', async () => {
    const farEast = encodeURIComponent('2000-01-02T00:00:00+23:00');
    expect((await stack.call('GET', `/internal/usage?since=${farEast}`)).body).toMatchObject({
      since: '2000-01-01T01:00:00.000Z',
    });
  });

  it('is printed as a table by the command', async () => {
    let stdout = '';
    const period = ['--since', DAY.since, '--until', DAY.until];
    const code = await runCommand(['-o', 'table', 'usage', '--by', 'tag:team', ...period], {
      environment: { [ENV.controllerUrl]: stack.url, [ENV.serviceSecret]: stack.settings.serviceSecret },
      signal: new AbortController().signal,
      stdin: new PassThrough() as unknown as NodeJS.ReadStream, // not read
      stdout: {
        write: text => {
          stdout += text;
        },
      },
      stderr: process.stderr,
    });
    expect(code).toBe(0);
    expect(stdout.split('\n').map(line => line.trim().split(/\s{2,}/))).toEqual(
      expect.arrayContaining([
        ['NAME', 'SESSIONS', 'LEASES', 'LEASE SECONDS', 'ARTIFACTS', 'ARTIFACT BYTES'],
        ['mail', '1', '1', '90.5', '0', '0'],
        ['(total)', '3', '4', '1320.5', '2', '1500'],
      ]),
    );
  });
});
