import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { runCommand } from '../../cli/program.ts';
import { BrowserSessions } from '../../client/browser-sessions.ts';
import { ENV } from '../../contract/names.ts';
import type { LeaseAnswer, Tags } from '../../contract/session.ts';
import { startStack } from './stack.ts';

const DAY = { since: '2026-05-01T00:00:00.000Z', until: '2026-05-02T00:00:00.000Z' };

it('[B7] sessions have tags, are searched by them, and usage is told per user and per tag', async () => {
  await using stack = await startStack({ [ENV.userLimit]: 5 });
  const { database, settings } = stack;
  const sessions = new BrowserSessions({ url: stack.url, serviceSecret: settings.serviceSecret });

  /** A lease that is over, and what it stored. */
  async function used(
    [user_id, conversation_id]: [string, string],
    tags: Tags | undefined,
    [from, to]: [string, string],
    artifacts: readonly [state: string, bytes: number | null, at: string][] = [],
  ): Promise<LeaseAnswer> {
    const lease = await stack.lease({ user_id, conversation_id, tags, record_video: false });
    await sessions.end(lease.session_id);
    const [runner] = await database.query<{ id: string }>(
      `update omicron.runners set redeemed_at = $3, draining_at = $4 where session_id = $1 and epoch = $2 returning id`,
      [lease.session_id, lease.epoch, from, to],
    );
    for (const [index, [state, bytes, at]] of artifacts.entries())
      await database.query(
        `insert into omicron.artifacts (session_id, epoch, runner_id, name, state, uri, bytes, reason, created_at)
           values ($1, $2, $3, $4, $5, 'file:///a', $6, 'why', $7)`,
        [lease.session_id, lease.epoch, runner?.id, `tab-${index}.webm`, state, bytes, at],
      );
    return lease;
  }

  const first = await used(
    ['ada', 'c1'],
    { team: 'search' },
    ['2026-05-01T10:00:00Z', '2026-05-01T10:10:00Z'],
    [
      ['stored', 1_000, '2026-05-01T10:11:00Z'],
      ['expired', 500, '2026-05-01T10:11:00Z'],
      ['lost', null, '2026-05-01T10:11:00Z'],
      ['stored', 7, '2026-05-03T00:00:00Z'],
    ],
  );
  // Of the next lease of the same session, half lies in the day.
  await used(['ada', 'c1'], undefined, ['2026-05-01T23:50:00Z', '2026-05-02T00:00:10Z']);
  await used(['ada', 'c2'], { team: 'mail' }, ['2026-05-01T12:00:00Z', '2026-05-01T12:01:30.500Z']);
  await used(['bob', 'c3'], undefined, ['2026-05-01T12:00:00Z', '2026-05-01T12:00:30Z']);
  await used(['bob', 'c4'], undefined, ['2026-04-30T12:00:00Z', '2026-04-30T13:00:00Z']);

  const found = await sessions.list({ tags: { team: 'search' } });
  expect(found.sessions).toMatchObject([{ session_id: first.session_id, tags: { team: 'search' } }]);

  const ada = { sessions: 2, leases: 3, lease_seconds: 1_290.5, artifacts: 2, artifact_bytes: 1_500 };
  const bob = { sessions: 1, leases: 1, lease_seconds: 30, artifacts: 0, artifact_bytes: 0 };
  const total = { sessions: 3, leases: 4, lease_seconds: 1_320.5, artifacts: 2, artifact_bytes: 1_500 };
  const perUser = {
    ...DAY,
    by: 'user',
    usage: [
      { name: 'ada', ...ada },
      { name: 'bob', ...bob },
    ],
    total,
  };
  expect(await sessions.getUsage(DAY)).toEqual(perUser);
  expect(await sessions.getUsage({ ...DAY, limit: 1 })).toEqual({ ...perUser, usage: perUser.usage.slice(0, 1) });
  expect(await sessions.getUsage({ ...DAY, userId: 'bob' })).toMatchObject({ usage: [{ name: 'bob' }], total: bob });
  expect((await sessions.getUsage({ ...DAY, by: 'tag:team' })).usage).toMatchObject([
    { name: 'search', leases: 2, lease_seconds: 1_200 },
    { name: 'mail', leases: 1, lease_seconds: 90.5 },
    { name: null, leases: 1, lease_seconds: 30 },
  ]);
  const ofMail = await sessions.getUsage({ ...DAY, tags: { team: 'mail' } });
  expect(ofMail.usage).toMatchObject([{ name: 'ada', sessions: 1, lease_seconds: 90.5 }]);

  // A lease that lives counts until now, in the last 30 days.
  await stack.lease({ user_id: 'eve', conversation_id: 'now' });
  const now = await sessions.getUsage({ userId: 'eve', until: '2999-01-01T00:00:00Z' });
  expect(now.usage).toMatchObject([{ name: 'eve', sessions: 1, leases: 1 }]);
  expect(Date.parse(now.until)).toBeLessThanOrEqual(Date.now() + 1_000);
  expect(await sessions.getUsage({ since: '2000-01-01T00:00:00Z', until: '2000-01-02T00:00:00Z' })).toMatchObject({
    usage: [],
    total: { sessions: 0, lease_seconds: 0 },
  });

  const asked = `/internal/usage?since=${DAY.since}&until=${DAY.until}`;
  expect((await stack.call('GET', asked, { user: 'bob' })).body).toMatchObject({ total: bob });
  expect((await stack.call('GET', `${asked}&user_id=ada`, { user: 'bob' })).status).toBe(403);
  const years = ['since=0000-01-01T00:00:00Z', 'until=0001-01-01T00:00:00Z', 'since=9999-12-31T23:59:59-14:00'];
  for (const wrong of ['by=team', 'by=tag:a%20b', 'since=yesterday', 'limit=0', ...years])
    expect((await stack.call('GET', `/internal/usage?${wrong}`)).status, wrong).toBe(400);

  const farEast = encodeURIComponent('2000-01-02T00:00:00+23:00');
  expect((await stack.call('GET', `/internal/usage?since=${farEast}`)).body).toMatchObject({
    since: '2000-01-01T01:00:00.000Z',
  });

  let stdout = '';
  const code = await runCommand(
    ['-o', 'table', 'usage', '--by', 'tag:team', '--since', DAY.since, '--until', DAY.until],
    {
      environment: { [ENV.controllerUrl]: stack.url, [ENV.serviceSecret]: settings.serviceSecret },
      signal: new AbortController().signal,
      stdin: new PassThrough() as unknown as NodeJS.ReadStream, // not read
      stdout: {
        write: text => {
          stdout += text;
        },
      },
      stderr: process.stderr,
    },
  );
  expect(code).toBe(0);
  expect(stdout.split('\n').map(line => line.trim().split(/\s{2,}/))).toEqual(
    expect.arrayContaining([
      ['NAME', 'SESSIONS', 'LEASES', 'LEASE SECONDS', 'ARTIFACTS', 'ARTIFACT BYTES'],
      ['mail', '1', '1', '90.5', '0', '0'],
      ['(total)', '3', '4', '1320.5', '2', '1500'],
    ]),
  );
});
