import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ENV } from '../../../contract/names.ts';
import { folderArtifacts } from '../../../controller/artifacts/folder.ts';
import { reap, retainArtifacts } from '../../../controller/loops/reap.ts';
import { eventually } from '../../eventually.ts';
import { freshPostgres } from '../../postgres.ts';
import { protocol } from '../protocol.ts';
import { startStack } from '../stack.ts';

const log = pino({ level: 'silent' });

describe('[O18] the reaper', () => {
  it('ends expired leases and old ones with their reason, and turns stuck starts into errors that can be taken over', async () => {
    const p = protocol(await freshPostgres(), { userLimit: 10, maxSessionSeconds: 3_600 });
    await p.warm(4);
    const [expired, aged, alive] = [
      await p.lease({ conversationId: 'expired' }),
      await p.lease({ conversationId: 'aged', ttlSeconds: 5_000 }),
      await p.lease({ conversationId: 'alive' }),
    ];
    const stuck = await p.claim({ conversationId: 'stuck' });
    await p.age(expired.session.id, 601);
    await p.age(aged.session.id, 3_601);
    await p.age(stuck.session.id, 121);
    expect(await reap({ maintenance: p.maintenance, log })).toBe(2);
    expect(await p.session(expired.session.id)).toMatchObject({
      status: 'ended',
      ended_reason: 'expired',
      mcp_url: null,
    });
    expect(await p.session(aged.session.id)).toMatchObject({ status: 'ended', ended_reason: 'max_age' });
    expect(await p.session(stuck.session.id)).toMatchObject({ status: 'error', ended_reason: 'start_timed_out' });
    expect(await p.session(alive.session.id)).toMatchObject({ status: 'ready' });
    expect((await p.runner(expired.runner.id)).state).toBe('draining');
    expect(await reap({ maintenance: p.maintenance, log })).toBe(0);
  });

  it('looks at a lease that is used once it would have ended, and ends it at its end', async () => {
    const database = await freshPostgres();
    const p = protocol(database);
    await p.warm(1);
    const lease = await p.lease();
    const times = async () => {
      const [row] = await database.query<{ due_at: Date; expires_at: Date }>(
        'select due_at, expires_at from omicron.browser_sessions where id = $1',
        [lease.session.id],
      );
      return row ?? expect.unreachable();
    };
    await p.age(lease.session.id, 400);
    const { due_at: due } = await times();
    await p.broker.reportActivity(p.leaseOf(lease), 1);
    const used = await times();
    expect(used.due_at).toEqual(due); // no index has it new
    expect(used.expires_at.getTime()).toBeGreaterThan(due.getTime());
    expect(await reap({ maintenance: p.maintenance, log })).toBe(0);
    expect((await times()).due_at).toEqual(due); // it is not due yet
    await database.query(`update omicron.browser_sessions set due_at = clock_timestamp() - interval '1 second'`);
    expect(await reap({ maintenance: p.maintenance, log })).toBe(0);
    expect((await times()).due_at).toEqual(used.expires_at);
    await p.age(lease.session.id, 601);
    expect(await reap({ maintenance: p.maintenance, log })).toBe(1);
    expect(await p.session(lease.session.id)).toMatchObject({ status: 'ended', ended_reason: 'expired' });
  });

  it('makes a start of more than two minutes an error that says what to do, even while its claim is renewed', async () => {
    const p = protocol(await freshPostgres(), { startSeconds: 120 });
    await p.warm(2);
    const stuck = await p.claim({ ttlSeconds: 3_000 });
    await p.age(stuck.session.id, 121);
    await reap({ maintenance: p.maintenance, log });
    expect(await p.session(stuck.session.id)).toMatchObject({
      status: 'error',
      ended_reason: 'start_timed_out',
      error: expect.stringContaining('Ask again'),
    });
    expect((await p.claim()).session).toMatchObject({ id: stuck.session.id, epoch: 2 });
  });

  it('ends an idle lease within its round, on a whole controller, and nothing of it stays', async () => {
    await using stack = await startStack({ OMICRON_POOL_IDLE: 0, OMICRON_REAP_SECONDS: 0.5 });
    const lease = await stack.lease({ ttl_seconds: 5 });
    await protocol(stack.database).age(lease.session_id, 5);
    const { body } = await eventually('it is ended', async () => {
      const answer = await stack.call('GET', `/internal/browser-sessions/${lease.session_id}`);
      return (answer.body as { status: string }).status === 'ended' ? answer : undefined; // Session
    });
    expect(body).toMatchObject({ ended_reason: 'expired' });
    await eventually('its runner is gone', () => stack.machine.runners.size === 0);
  });

  it('[S4] ends a lease at its maximum age although it is used', async () => {
    await using stack = await startStack({ OMICRON_MAX_SESSION_MINUTES: 0.05 });
    const lease = await stack.lease();
    expect(Date.parse(lease.ends_at) - Date.now()).toBeLessThanOrEqual(3_000);
    const path = `/internal/browser-sessions/${lease.session_id}`;
    await eventually(
      'its end',
      async () => (await stack.call('POST', `${path}/heartbeat`, { body: { epoch: 1 } })).status === 409,
    );
    await eventually('the reason', async () => {
      expect((await stack.call('GET', path)).body).toMatchObject({ status: 'ended', ended_reason: 'max_age' });
      return true;
    });
    expect(stack.logged()).toMatch(/lease expired|"lease":"expired"/);
    const { body } = await stack.call('GET', '/metrics');
    expect(String(body)).toContain('omicron_reaper_deletes_total 1');
  });
});

describe('[S4] retention', () => {
  it('removes recordings and pages past theirs, says so, and goes on after one that cannot be removed', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'omicron-artifacts-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const database = await freshPostgres();
    const p = protocol(database);
    await p.warm(1);
    const leased = await p.lease();
    const store = async (name: string, uri = pathToFileURL(join(folder, 's', '1', name)).href) => {
      await mkdir(join(folder, 's', '1', 'pages'), { recursive: true });
      await writeFile(join(folder, 's', '1', name), 'video');
      await p.broker.writeArtifact(p.leaseOf(leased), { state: 'stored', name, uri, bytes: 5 });
    };
    const elsewhere = join(tmpdir(), `omicron-elsewhere-${randomUUID()}`);
    await writeFile(elsewhere, 'not a recording');
    onTestFinished(() => rm(elsewhere, { force: true }));
    await store('a-forged.webm', pathToFileURL(elsewhere).href); // what a hostile runner may report
    await store('b-old.webm');
    await store('c-new.webm');
    await store('pages/last.jpg');
    await database.query(
      `update omicron.artifacts set created_at = created_at - interval '8 days' where name <> 'c-new.webm' and kind = 'video'`,
    );
    await database.query(
      `update omicron.artifacts set created_at = created_at - interval '4 days' where kind = 'page'`,
    );
    const said: string[] = [];
    const spoken = pino({ level: 'info' }, { write: line => void said.push(line) });
    const retention = { videos: 7, pages: 3 };
    await retainArtifacts({ maintenance: p.maintenance, artifacts: folderArtifacts(folder), retention, log: spoken });
    const rows = await database.query('select name, state, reason from omicron.artifacts order by name');
    expect(rows).toEqual([
      { name: 'a-forged.webm', state: 'stored', reason: null },
      { name: 'b-old.webm', state: 'expired', reason: 'retention' },
      { name: 'c-new.webm', state: 'stored', reason: null },
      { name: 'pages/last.jpg', state: 'expired', reason: 'retention' },
    ]);
    expect(existsSync(elsewhere)).toBe(true);
    expect(existsSync(join(folder, 's', '1', 'b-old.webm'))).toBe(false);
    expect(existsSync(join(folder, 's', '1', 'c-new.webm'))).toBe(true);
    expect(said.join('')).toContain('expired artifact removed');
  });

  it('a bucket needs pods, and the addresses that their uploaders may reach', async () => {
    const bucket = { [ENV.artifactStore]: 's3://bucket', [ENV.egressUrl]: 'http://egress-proxy:3128' };
    await expect(startStack(bucket)).rejects.toThrow('must be a folder (file:) with OMICRON_PROVIDER=local');
    await expect(startStack({ ...bucket, OMICRON_PROVIDER: 'kubernetes' })).rejects.toThrow(
      'OMICRON_ARTIFACT_ENDPOINTS is not set',
    );
  });
});
