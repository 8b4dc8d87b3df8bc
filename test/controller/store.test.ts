import { randomUUID } from 'node:crypto';
import { afterAll, describe, expect, it } from 'vitest';
import type { Database } from '../../controller/ports/database.ts';
import { migrate } from '../../controller/store/migrate.ts';
import { pgliteDatabase } from '../../controller/store/pglite.ts';
import { freshPostgres } from '../postgres.ts';
import { protocol } from './protocol.ts';

const stores: Record<string, () => Promise<Database>> = {
  Postgres: () => freshPostgres(),
  async PGlite() {
    lite ??= await migratedLite();
    await lite.empty();
    return lite.database;
  },
};
let lite: Awaited<ReturnType<typeof migratedLite>> | undefined;
afterAll(() => lite?.database.close());

/** Creating and migrating one takes seconds of a core, so there is one for all tests, and `empty` brings back the rows that it began with. */
async function migratedLite() {
  const database = await pgliteDatabase();
  await migrate(database);
  await database.script('create schema pristine');
  const emptying: string[] = [];
  for (const { name } of await database.query<{ name: string }>(
    `select relname as name from pg_class where relnamespace = 'omicron'::regnamespace and relkind = 'r'`,
  )) {
    await database.script(`create table pristine.${name} as table omicron.${name}`);
    emptying.push(
      `delete from omicron.${name}; insert into omicron.${name} overriding system value table pristine.${name};`,
    );
  }
  // without the triggers, those of foreign keys too
  const script = `set session_replication_role = replica; ${emptying.join(' ')} reset session_replication_role`;
  return { database, empty: () => database.script(script) };
}

// One contract, both stores: what a lease may and may not do, step by step.
describe.each(Object.entries(stores))('the lease protocol on %s', (_name, open) => {
  it('leads a claim over redemption to a ready lease', async () => {
    const p = protocol(await open());
    await p.warm(1);
    const claimed = await p.claim({ tags: { team: 'ops' } });
    expect(claimed.session).toMatchObject({ status: 'starting', epoch: 1, tags: { team: 'ops' } });
    expect(claimed.runner.state).toBe('claimed');
    expect(await p.redeem(claimed)).toMatchObject({ outcome: 'redeemed', userId: 'ada' });
    const ready = await p.makeReady(claimed);
    expect(ready).toMatchObject({ status: 'ready', epoch: 1, mcp_url: 'http://127.0.0.1:1/mcp' });
    expect((await p.runner(claimed.runner.id)).state).toBe('leased');
  });

  it('[E2] lets files go with their session, except those that its lease keeps by name, and late ones too', async () => {
    const p = protocol(await open());
    await p.warm(3);
    const statesOf = async (id: string) =>
      (await p.directory.artifacts(id)).map(({ name, state, reason }) => [name, state, reason]).sort();
    const store = (lease: Awaited<ReturnType<typeof p.lease>>, name: string) =>
      p.broker.writeArtifact(p.leaseOf(lease), { name, state: 'stored', uri: `file:///${name}`, bytes: 1 });
    const first = await p.lease({ keepFiles: ['invoice.pdf'] });
    const { id } = first.session;
    for (const name of ['downloads/invoice.pdf', 'downloads/other.pdf', 'uploads/letter.txt', 'tab-001.webm'])
      await store(first, name);
    expect((await statesOf(id)).map(([, state]) => state)).toEqual(['stored', 'stored', 'stored', 'stored']);
    expect(await p.maintenance.dueFiles(9, null)).toEqual([]);
    await p.leases.end(id, null, null, 'released');
    await store(first, 'downloads/late.pdf');
    const gone = ['expired', 'session_ended'];
    expect(await statesOf(id)).toEqual([
      ['downloads/invoice.pdf', 'stored', null],
      ['downloads/late.pdf', ...gone],
      ['downloads/other.pdf', ...gone],
      ['tab-001.webm', 'stored', null],
      ['uploads/letter.txt', ...gone],
    ]);
    const due = await p.maintenance.dueFiles(9, null);
    expect(due.map(({ uri }) => uri).sort()).toEqual([
      'file:///downloads/late.pdf',
      'file:///downloads/other.pdf',
      'file:///uploads/letter.txt',
    ]);
    for (const { id: file } of due) await p.maintenance.markExpired(file, 'session_ended');
    expect(await p.maintenance.dueFiles(9, null)).toEqual([]);

    // The conversation's next session keeps nothing: the file that the first one kept stays.
    await p.fleet.markGone(first.runner.id);
    const second = await p.lease();
    await store(second, 'downloads/second.pdf');
    await p.leases.end(id, null, null, 'released');
    const kept = (await statesOf(id)).filter(([, state]) => state === 'stored').map(([name]) => name);
    expect(kept).toEqual(['downloads/invoice.pdf', 'tab-001.webm']);
    expect((await p.maintenance.dueFiles(9, null)).map(({ uri }) => uri)).toEqual(['file:///downloads/second.pdf']);

    const all = await p.lease({ conversationId: 'all', keepFiles: 'all' });
    await store(all, 'downloads/a.pdf');
    await p.leases.end(all.session.id, null, null, 'released');
    expect(await statesOf(all.session.id)).toEqual([['downloads/a.pdf', 'stored', null]]);
  });

  it('renews a ready lease with the same epoch and runner', async () => {
    const p = protocol(await open());
    await p.warm(1);
    const { session } = await p.lease();
    await p.age(session.id, 100);
    const before = await p.session(session.id);
    const renewed = await p.acquire();
    expect(renewed).toMatchObject({
      outcome: 'renewed',
      session: { id: session.id, epoch: 1, runner_id: session.runner_id },
    });
    expect((await p.session(session.id)).expires_at.getTime()).toBeGreaterThan(before.expires_at.getTime() + 90_000);
  });

  it('[O7] one caller claims by status and claim_id, others wait, and a start of two minutes is taken over', async () => {
    const p = protocol(await open());
    await p.warm(2);
    const first = await p.claim();
    const { id, claim_id: claimId } = first.session;
    expect(first.session).toMatchObject({ status: 'starting', claim_id: expect.any(String), epoch: 1 });
    for (let seconds = 0; seconds < 110; seconds += 10) {
      expect(await p.acquire()).toMatchObject({ outcome: 'starting', session: { id, claim_id: claimId, epoch: 1 } });
      await p.age(id, 10);
      expect(await p.leases.beat(p.claimOf(first))).toBe(true);
    }
    await p.age(id, 11);
    const second = await p.claim();
    expect(second.session).toMatchObject({ id, status: 'starting', epoch: 2 });
    expect(second.session.claim_id).not.toBe(claimId);
    expect(await p.redeem(first)).toMatchObject({ outcome: 'refused' });
    expect(await p.makeReady(first)).toBeNull();
    await p.redeem(second);
    expect(await p.makeReady(second)).toMatchObject({ status: 'ready', epoch: 2, runner_id: second.runner.id });
  });

  it('takes an expired lease to a new epoch with another runner', async () => {
    const p = protocol(await open());
    await p.warm(2);
    const old = await p.lease();
    await p.age(old.session.id, 601);
    const next = await p.claim();
    expect(next.session).toMatchObject({ id: old.session.id, epoch: 2, status: 'starting' });
    expect(next.runner.id).not.toBe(old.runner.id);
    expect((await p.runner(old.runner.id)).state).toBe('draining');
  });

  it('writes the intent of a runner when none is warm, and leads it by the same path', async () => {
    const p = protocol(await open());
    await p.maintenance.setCapacity(5);
    const claimed = await p.claim();
    expect(claimed.runner).toMatchObject({ state: 'creating', assigned_at: null, epoch: 1 });
    expect(await p.leases.beginAssignment(p.claimOf(claimed))).toBeNull();
    const boot = randomUUID();
    expect(await p.fleet.markUp(claimed.runner.id, boot, 'http://127.0.0.1:1')).toBe('claimed');
    const assigned = await p.leases.beginAssignment(p.claimOf(claimed));
    expect(assigned).toMatchObject({ id: claimed.runner.id, boot_id: boot });
    expect(await p.redeem(claimed, { boot_id: boot })).toMatchObject({ outcome: 'redeemed' });
    expect(await p.makeReady(claimed)).toMatchObject({ status: 'ready' });
  });

  it('prefers a runner that the pool is already making to a new one', async () => {
    const p = protocol(await open());
    await p.maintenance.setCapacity(5);
    await p.fleet.plan('local', 't1', 1, 1);
    const [making] = await p.fleet.take('local', 'creating', 1, 60);
    expect((await p.claim()).runner.id).toBe(making?.id);
  });

  it('[O19] refuses a user beyond the limit and says when a place is free', async () => {
    const p = protocol(await open(), { userLimit: 2 });
    await p.warm(3);
    const first = await p.lease({ conversationId: 'c1', ttlSeconds: 100 });
    await p.lease({ conversationId: 'c2', ttlSeconds: 500 });
    const refused = await p.acquire({ conversationId: 'c3' });
    expect(refused).toMatchObject({ outcome: 'refused', code: 'user_quota_exceeded', limit: 2, active: 2 });
    if (refused.outcome !== 'refused') throw new Error('not refused');
    expect(refused.retryAfterMs).toBeGreaterThan(95_000);
    expect(refused.retryAfterMs).toBeLessThanOrEqual(100_000);
    expect(await p.claim({ userId: 'bob', conversationId: 'c3' })).toBeTruthy();
    await p.age(first.session.id, 101); // expired, not reaped: it must not lock the user out
    expect(await p.claim({ userId: 'ada', conversationId: 'c4' })).toBeTruthy();
  });

  it('reuses the oldest when the deployment says so', async () => {
    const p = protocol(await open(), { userLimit: 1, onUserLimit: 'evict_oldest' });
    await p.warm(2);
    const old = await p.lease({ conversationId: 'c1' });
    const next = await p.claim({ conversationId: 'c2' });
    expect(next.session.epoch).toBe(1);
    expect(await p.session(old.session.id)).toMatchObject({ status: 'ended', ended_reason: 'evicted' });
    expect((await p.runner(old.runner.id)).state).toBe('draining');
  });

  it('asks for the oldest to be hibernated before anything is written, and ends what cannot be', async () => {
    const p = protocol(await open(), { userLimit: 2, onUserLimit: 'evict_oldest' });
    await p.warm(3);
    const oldest = await p.lease({ conversationId: 'c1', hibernate: 'expiry' });
    const other = await p.lease({ conversationId: 'c2', hibernate: 'expiry' });
    const next = (unhibernated: string[]) => p.acquire({ conversationId: 'c3', unhibernated });
    expect(await next([])).toEqual({ outcome: 'evicts', sessions: [oldest.session.id] });
    await p.leases.heartbeat(oldest.session.id, 'ada', 1); // used meanwhile: another one is the oldest
    await p.age(other.session.id, 5);
    expect(await next([oldest.session.id])).toEqual({ outcome: 'evicts', sessions: [other.session.id] });
    expect(await p.directory.stats()).toMatchObject({ starting: 0, active: 2 });
    const start = await p.claim({ conversationId: 'c3', unhibernated: [oldest.session.id, other.session.id] });
    expect(await p.session(other.session.id)).toMatchObject({ status: 'ended', ended_reason: 'evicted' });
    expect(await p.session(oldest.session.id)).toMatchObject({ status: 'ready' });
    await p.age(start.session.id, 5); // a start has nothing to keep yet
    expect(await p.acquire({ conversationId: 'c4', unhibernated: [] })).toMatchObject({ outcome: 'claimed' });
    expect(await p.session(start.session.id)).toMatchObject({ status: 'ended', ended_reason: 'evicted' });
  });

  it('[E1] a released lease gives way to a new one of its user, the longest released first, and no held one does', async () => {
    const p = protocol(await open(), { userLimit: 2 });
    await p.warm(5);
    const first = await p.lease({ conversationId: 'c1' });
    const second = await p.lease({ conversationId: 'c2' });
    expect(await p.acquire({ conversationId: 'c3' })).toMatchObject({ code: 'user_quota_exceeded' });
    expect(await p.leases.release(second.session.id, 'bob', 1)).toEqual({ outcome: 'not_found' });
    expect(await p.leases.release(second.session.id, 'ada', 7)).toMatchObject({ outcome: 'superseded' });
    expect(await p.leases.release(second.session.id, 'ada', 1)).toMatchObject({ outcome: 'released' });
    await p.leases.release(first.session.id, 'ada', 1);
    expect(await p.acquire({ conversationId: 'c1' })).toMatchObject({ outcome: 'renewed' }); // held again
    expect(await p.claim({ conversationId: 'c3' })).toMatchObject({ evicted: true });
    expect(await p.session(second.session.id)).toMatchObject({ status: 'ended', ended_reason: 'evicted' });
    expect(await p.session(first.session.id)).toMatchObject({ status: 'ready', released_at: null });
    expect(await p.acquire({ conversationId: 'c4' })).toMatchObject({ code: 'user_quota_exceeded' });
  });

  it('[E1] a released lease is held again by a heartbeat, and by calls that came after the release', async () => {
    const p = protocol(await open());
    await p.warm(1);
    const leased = await p.lease();
    const { id } = leased.session;
    const reported = async () => (await p.broker.reportActivity(p.leaseOf(leased), 1))?.heldMs;
    expect(await reported()).toBeGreaterThan(290_000);
    await p.leases.release(id, null, null);
    expect(await reported()).toBe(0); // of a call before the release
    await p.leases.heartbeat(id, 'ada', 1);
    expect(await p.session(id)).toMatchObject({ released_at: null });
    await p.leases.release(id, null, null);
    await p.age(id, 30);
    await reported();
    expect(await p.session(id)).toMatchObject({ released_at: null });
    await p.leases.release(id, null, null);
    await p.maintenance.setCapacity(1);
    expect(await p.leases.yielding('local', 't1', 9)).toEqual([]); // no caller lacks a place
    expect(await p.acquire({ userId: 'bob', waits: true })).toMatchObject({ code: 'capacity_exceeded' });
    expect(await p.leases.yielding('local', 't1', 9)).toEqual([{ id, hibernates: false }]);
    expect(await p.leases.yielding('local', 't1', 9)).toEqual([]); // chosen already
    expect(await p.leases.endReleased(id)).toBe(true);
    expect(await p.leases.endReleased(id)).toBe(false);
    expect(await p.leases.release(id, null, null)).toMatchObject({ outcome: 'ended' });
  });

  it('holds the global cap until a runner is gone, and says when to come again', async () => {
    const p = protocol(await open());
    await p.maintenance.setCapacity(1);
    const only = await p.claim({ ttlSeconds: 50 });
    const refused = await p.acquire({ userId: 'bob' });
    expect(refused).toMatchObject({ outcome: 'refused', code: 'capacity_exceeded', limit: 1, active: 1 });
    if (refused.outcome !== 'refused') throw new Error('not refused');
    expect(refused.retryAfterMs).toBe(30_000); // at most
    await p.leases.end(only.session.id, null, null, 'released');
    const draining = await p.acquire({ userId: 'bob' });
    expect(draining.outcome === 'refused' && draining.retryAfterMs).toBeLessThanOrEqual(2_000);
    await p.fleet.markGone(only.runner.id);
    expect((await p.claim({ userId: 'bob' })).session.epoch).toBe(1);
  });

  it('[N1] takes quota, place, runner and epoch in one step, or none of them', async () => {
    const p = protocol(await open(), { userLimit: 1, onUserLimit: 'evict_oldest' });
    await p.maintenance.setCapacity(2);
    const hers = await p.claim({ userId: 'ada', conversationId: 'c1' });
    const his = await p.claim({ userId: 'bob' });
    // Her quota would have its place by eviction, but the deployment has none: nothing of the claim is left.
    const refused = await p.acquire({ userId: 'ada', conversationId: 'c2' });
    expect(refused).toMatchObject({ outcome: 'refused', code: 'capacity_exceeded' });
    for (const { session, runner } of [hers, his]) {
      expect(await p.session(session.id)).toMatchObject({ status: 'starting', epoch: 1, runner_id: runner.id });
      expect((await p.runner(runner.id)).state).toBe('creating');
    }
    expect(await p.directory.stats()).toMatchObject({ starting: 2, active: 0 });
    await p.maintenance.setCapacity(3);
    const next = await p.claim({ userId: 'ada', conversationId: 'c2' });
    expect(await p.session(hers.session.id)).toMatchObject({ status: 'ended', ended_reason: 'evicted' });
    expect(next.runner).toMatchObject({ session_id: next.session.id, epoch: 1 });
    expect(await p.session(next.session.id)).toMatchObject({ runner_id: next.runner.id, epoch: 1 });
  });

  it('counts sessions and runners of each state as their rows have it', async () => {
    const database = await open();
    const p = protocol(database, { userLimit: 10 });
    await p.warm(9);
    const [ready, , expired, ended, redeemed, gone] = [
      await p.lease({ conversationId: 'ready' }),
      await p.lease({ conversationId: 'too' }),
      await p.lease({ conversationId: 'expired' }),
      await p.lease({ conversationId: 'ended' }),
      await p.claim({ conversationId: 'redeemed' }),
      await p.lease({ conversationId: 'gone' }),
      await p.claim({ conversationId: 'claimed' }),
    ];
    await p.fleet.plan('local', 't1', 3, 9);
    await p.age(expired.session.id, 601);
    await p.redeem(redeemed);
    await p.broker.reportActivity(p.leaseOf(ready), 1);
    for (const { session } of [ended, gone]) await p.leases.end(session.id, null, null, 'released');
    await p.fleet.markGone(gone.runner.id);
    const rows = await database.query<{ state: string; count: number }>(
      `select state, count(*)::int as count from omicron.runners where state <> 'gone' group by state`,
    );
    const runners = Object.fromEntries(rows.map(({ state, count }) => [state, count]));
    expect(runners).toEqual({ creating: 1, warm: 2, claimed: 1, leased: 4, draining: 1 });
    expect(await p.directory.stats()).toMatchObject({ active: 2, starting: 2, hibernated: 0, runners });
    expect((await p.fleet.held()).sort()).toEqual((await p.fleet.living('local')).map(({ id }) => id).sort());
  });

  it('lowers the capacity without ending a lease', async () => {
    const p = protocol(await open());
    await p.warm(2);
    const a = await p.lease({ userId: 'a' });
    const b = await p.lease({ userId: 'b' });
    await p.maintenance.setCapacity(1);
    expect(await p.acquire({ userId: 'c' })).toMatchObject({ outcome: 'refused' });
    for (const { session, runner } of [a, b]) {
      await p.leases.end(session.id, null, null, 'released');
      await p.fleet.markGone(runner.id);
    }
    await p.maintenance.setCapacity(1);
    expect((await p.directory.stats()).capacity).toBe(1);
    await p.claim({ userId: 'c' });
    expect(await p.acquire({ userId: 'd' })).toMatchObject({ outcome: 'refused', limit: 1 });
  });

  it('ends a lease once, whatever is repeated, and clears what would still point at it', async () => {
    const p = protocol(await open());
    await p.warm(1);
    const { session, runner } = await p.lease();
    expect(await p.leases.end(session.id, null, 1, 'released')).toMatchObject({
      outcome: 'ended',
      session: { status: 'ended', ended_reason: 'released', mcp_url: null, claim_id: null },
    });
    expect(await p.leases.end(session.id, null, 1, 'released')).toMatchObject({ outcome: 'already_ended' });
    expect((await p.runner(runner.id)).state).toBe('draining');
    const ended = (await p.directory.events(session.id, { limit: 50 })).events.filter(e => e.kind === 'session.ended');
    expect(ended).toHaveLength(1);
  });

  it('gives the runner to the request that ends a lease and drains it, and to the loop once that is over', async () => {
    const p = protocol(await open());
    await p.warm(1);
    const { session, runner } = await p.lease();
    const drains = () => p.fleet.take('local', 'draining', 10, 0);
    expect(await p.leases.end(session.id, null, 1, 'released', 5)).toMatchObject({
      ...{ outcome: 'ended', served: true, runner: { id: runner.id, state: 'draining' } },
    });
    expect(await drains()).toEqual([]);
    expect(await p.leases.end(session.id, null, 1, 'released', 5)).toMatchObject({
      ...{ outcome: 'already_ended', served: true, runner: null },
    });
    expect(await p.fleet.markAcknowledged(runner.id)).toBe(true);
    expect(await p.leases.end(session.id, null, 1, 'released', 5)).toMatchObject({ served: false, runner: null });
    await p.age(session.id, 5);
    expect(await drains()).toMatchObject([{ id: runner.id }]);
  });

  it('gives no runner that is still created to the request that ends its lease', async () => {
    const p = protocol(await open());
    await p.maintenance.setCapacity(1);
    const { session, runner } = await p.claim();
    await p.fleet.take('local', 'creating', 1, 60);
    expect(await p.leases.end(session.id, null, 1, 'released', 5)).toMatchObject({ served: false, runner: null });
    expect(await p.fleet.markUp(runner.id, randomUUID(), 'http://127.0.0.1:1')).toBeNull();
    expect(await p.fleet.take('local', 'draining', 1, 0)).toMatchObject([{ id: runner.id }]);
  });

  it('does not say that a lease is unserved while the runner of an earlier epoch may act', async () => {
    const p = protocol(await open());
    await p.warm(2);
    const first = await p.lease();
    await p.leases.end(first.session.id, null, 1, 'released');
    const second = await p.claim();
    expect(await p.leases.end(second.session.id, null, 2, 'released')).toMatchObject({
      outcome: 'ended',
      served: true,
    });
    expect(await p.fleet.markAcknowledged(second.runner.id)).toBe(false);
    expect(await p.fleet.markAcknowledged(first.runner.id)).toBe(true);
    expect(await p.fleet.markAcknowledged(second.runner.id)).toBe(true);
  });

  it('does not find a session under another user', async () => {
    const p = protocol(await open());
    await p.warm(1);
    const { session } = await p.lease();
    expect(await p.leases.heartbeat(session.id, 'mallory', null)).toEqual({ outcome: 'not_found' });
    expect(await p.leases.end(session.id, 'mallory', null, 'released')).toEqual({ outcome: 'not_found' });
    expect(await p.directory.session(session.id, 'mallory')).toBeNull();
    expect(await p.directory.archive(session.id, 'mallory')).toBeNull();
    expect((await p.session(session.id)).status).toBe('ready');
  });

  it('moves expiry with activity, never past the maximum age, never backwards', async () => {
    const p = protocol(await open(), { maxSessionSeconds: 700 });
    await p.warm(1);
    const leased = await p.lease({ ttlSeconds: 600 });
    const remaining = async (calls: number) => (await p.broker.reportActivity(p.leaseOf(leased), calls))?.remainingMs;
    await p.age(leased.session.id, 300);
    expect(await remaining(0)).toBeLessThanOrEqual(300_000);
    const moved = await remaining(3);
    expect(moved).toBeGreaterThan(390_000);
    expect(moved).toBeLessThanOrEqual(400_000); // 700 s of age less the 300 that have passed
    expect(await p.acquire({ ttlSeconds: 5 })).toMatchObject({ outcome: 'renewed' });
    expect(await remaining(0)).toBeGreaterThan(380_000);
  });

  it('writes events once and only from who held the lease', async () => {
    const p = protocol(await open());
    await p.warm(2);
    const leased = await p.lease();
    const event = { id: randomUUID(), kind: 'tool.call' as const, age_ms: 5, data: { tool: 'browser_click' } };
    expect(await p.broker.writeEvents(p.leaseOf(leased), [event])).toBe(true);
    expect(await p.broker.writeEvents(p.leaseOf(leased), [event])).toBe(true);
    expect(await p.broker.writeEvents({ ...p.leaseOf(leased), epoch: 2 }, [{ ...event, id: randomUUID() }])).toBe(
      false,
    );
    const other = await p.claim({ userId: 'bob' }); // claimed, never redeemed
    expect(await p.broker.writeEvents(p.leaseOf(other), [{ ...event, id: randomUUID() }])).toBe(false);
    const { events } = await p.directory.events(leased.session.id, { limit: 50 });
    expect(events.map(e => e.kind)).toEqual(['session.claimed', 'session.ready', 'tool.call']);
  });

  it('records a loss when a recorded lease leaves no video, and not when there is one', async () => {
    const p = protocol(await open());
    await p.warm(3);
    const lost = await p.lease({ userId: 'a' });
    const kept = await p.lease({ userId: 'b' });
    const unrecorded = await p.lease({ userId: 'c', recordVideo: false });
    await p.broker.writeArtifact(p.leaseOf(kept), {
      state: 'stored',
      name: 'tab-1.webm',
      uri: 'file:///v.webm',
      bytes: 10,
    });
    await p.broker.writeArtifact(p.leaseOf(kept), { state: 'lost', name: 'tab-1.webm', reason: 'late' });
    for (const { session, runner } of [lost, kept, unrecorded]) {
      await p.leases.end(session.id, null, null, 'released');
      await p.fleet.markGone(runner.id);
    }
    expect(await p.directory.artifacts(lost.session.id)).toMatchObject([
      { state: 'lost', reason: expect.stringContaining('no recording') },
    ]);
    expect(await p.directory.artifacts(kept.session.id)).toMatchObject([
      { state: 'stored', uri: 'file:///v.webm', bytes: 10 },
    ]);
    expect(await p.directory.artifacts(unrecorded.session.id)).toEqual([]);
  });

  it('[B7] finds sessions by user, status and tags, page by page, newest first', async () => {
    const database = await open();
    const p = protocol(database, { userLimit: 100 });
    await p.maintenance.setCapacity(50);
    for (let n = 0; n < 7; n++)
      await p.claim({ conversationId: `c${n}`, tags: { team: n % 2 ? 'odd' : 'even', n: String(n) } });
    // PGlite's clock counts milliseconds: two claims may have the same.
    await database.query(
      `update omicron.browser_sessions set created_at = created_at + substr(conversation_id, 2)::int * interval '1 minute'`,
    );
    await p.claim({ userId: 'bob', conversationId: 'x', tags: { team: 'odd' } });
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await p.directory.list({ user_id: 'ada', archived: false, limit: 3, cursor });
      seen.push(...page.sessions.map(s => s.conversation_id));
      cursor = page.nextCursor ?? undefined;
    } while (cursor);
    expect(seen).toEqual(['c6', 'c5', 'c4', 'c3', 'c2', 'c1', 'c0']);
    const odd = await p.directory.list({ tag: { team: 'odd' }, archived: false, limit: 50 });
    expect(odd.sessions.map(s => s.conversation_id).sort()).toEqual(['c1', 'c3', 'c5', 'x']);
    const one = await p.directory.list({ tag: { team: 'odd', n: '3' }, archived: false, limit: 50 });
    expect(one.sessions.map(s => s.conversation_id)).toEqual(['c3']);
    await expect(p.directory.list({ archived: false, limit: 5, cursor: 'nonsense' })).rejects.toThrow(/cursor/);
    expect((await p.directory.list({ status: 'ready', archived: false, limit: 5 })).sessions).toEqual([]);
  });

  it('takes an archived session off the list until it is leased again', async () => {
    const p = protocol(await open());
    await p.warm(2);
    const { session, runner } = await p.lease();
    expect(await p.directory.archive(session.id, null)).toMatchObject({ status: 'ended', ended_reason: 'archived' });
    expect((await p.directory.list({ archived: false, limit: 5 })).sessions).toEqual([]);
    expect((await p.directory.list({ archived: true, limit: 5 })).sessions).toHaveLength(1);
    await p.fleet.markGone(runner.id);
    await p.lease();
    expect((await p.directory.list({ archived: false, limit: 5 })).sessions).toHaveLength(1);
  });

  it('replaces warm runners of another template and leaves leased ones alone', async () => {
    const p = protocol(await open());
    const warm = await p.warm(2);
    const leased = await p.lease();
    expect(await p.fleet.plan('local', 't2', 2, 10)).toBe(2);
    const rest = warm.find(row => row.id !== leased.runner.id);
    expect((await p.runner(rest?.id ?? '')).state).toBe('warm'); // until there is more than one in its place
    for (const row of await p.fleet.take('local', 'creating', 10, 0))
      await p.fleet.markUp(row.id, randomUUID(), 'http://127.0.0.1:1');
    expect(await p.fleet.plan('local', 't2', 2, 10)).toBe(0);
    expect((await p.runner(rest?.id ?? '')).state).toBe('draining');
    expect((await p.runner(leased.runner.id)).state).toBe('leased');
  });

  it('a template that does not start empties no pool: the warm runners before it stay, and are leased', async () => {
    const p = protocol(await open());
    const warm = await p.warm(3);
    await p.maintenance.setCapacity(10);
    const states = () => Promise.all(warm.map(async row => (await p.runner(row.id)).state));
    for (let tries = 0; tries < 3; tries += 1) {
      expect(await p.fleet.plan('local', 't2', 3, 10)).toBe(3);
      for (const row of await p.fleet.take('local', 'creating', 10, 0))
        await p.fleet.markLost(row.id, 'not_started', 'runner_start_failed', 'ErrImagePull');
      for (const row of await p.fleet.take('local', 'draining', 10, 0)) await p.fleet.markGone(row.id);
    }
    expect(await states()).toEqual(['warm', 'warm', 'warm']);
    const { runner } = await p.claim({ template: 't2' });
    expect(warm.map(row => row.id)).toContain(runner.id);
    expect((await states()).sort()).toEqual(['claimed', 'warm', 'warm']);
  });

  it('at full capacity one warm runner of the old template gives way to the first new one', async () => {
    const p = protocol(await open());
    const warm = await p.warm(3);
    await p.maintenance.setCapacity(3);
    const drained = async () => {
      const states = await Promise.all(warm.map(async row => (await p.runner(row.id)).state));
      return states.filter(state => state === 'draining').length;
    };
    for (let looks = 0; looks < 3; looks += 1) expect(await p.fleet.plan('local', 't2', 3, 10)).toBe(0);
    expect(await drained()).toBe(1);
    for (const row of await p.fleet.take('local', 'draining', 10, 0)) await p.fleet.markGone(row.id);
    expect(await p.fleet.plan('local', 't2', 3, 10)).toBe(1);
    expect(await p.fleet.plan('local', 't2', 3, 10)).toBe(0);
    expect(await drained()).toBe(0); // the new one is not known to start
  });

  it('shrinks the pool by draining, the newest first, and never a claimed one', async () => {
    const p = protocol(await open());
    const warm = await p.warm(3);
    const claimed = await p.claim();
    await p.fleet.plan('local', 't1', 1, 10);
    const states = await Promise.all(warm.map(async row => (await p.runner(row.id)).state));
    expect(states.sort()).toEqual(['claimed', 'draining', 'warm']);
    expect((await p.runner(claimed.runner.id)).state).toBe('claimed');
  });

  it('lets starts that a lease waits for come first', async () => {
    const p = protocol(await open());
    await p.maintenance.setCapacity(20);
    for (const conversationId of ['c1', 'c2', 'c3'])
      expect((await p.claim({ conversationId })).runner.state).toBe('creating');
    expect(await p.fleet.plan('local', 't1', 10, 4)).toBe(1);
    expect(await p.fleet.plan('local', 't1', 10, 3)).toBe(0);
    for (const row of await p.fleet.take('local', 'creating', 10, 0))
      await p.fleet.markUp(row.id, randomUUID(), 'http://127.0.0.1:1');
    expect(await p.fleet.plan('local', 't1', 10, 4)).toBe(4);
  });

  it('leaves a spare runner of less than a minute, which another replica may just have asked for', async () => {
    const p = protocol(await open());
    await p.maintenance.setCapacity(10);
    await p.fleet.plan('local', 't1', 2, 10);
    await p.fleet.plan('local', 't1', 0, 10);
    expect(await p.fleet.take('local', 'draining', 10, 0)).toEqual([]);
    expect(await p.fleet.take('local', 'creating', 10, 0)).toHaveLength(2);
  });

  it('refuses a migration that was changed after it ran', async () => {
    const database = await open();
    await migrate(database);
    await database.query(`update omicron.migrations set digest = 'other' where name = '0001_tables.sql'`);
    await expect(migrate(database)).rejects.toThrow(/0001_tables.sql was changed/);
  });
});

describe.each(Object.entries(stores))('a statement on %s', (_name, open) => {
  it('takes parameters of every kind the store uses, again and again', async () => {
    const database = await open();
    const at = new Date(0);
    const ids = [randomUUID(), randomUUID()];
    const sql =
      'select $1::uuid[] as ids, $2::jsonb as document, $3::timestamptz as at, $4::int as n, $5::text as none';
    for (const n of [1, 2])
      expect(await database.query(sql, [ids, JSON.stringify({ n }), at, n, null])).toEqual([
        { ids, document: { n }, at, n, none: null },
      ]);
  });

  it('fails alone: it says the code of Postgres, and the next one runs', async () => {
    const database = await open();
    const divide = (by: unknown) => database.query('select 6 / $1::int as n', [by]);
    await expect(divide(0)).rejects.toMatchObject({ code: '22012' });
    await expect(divide('two')).rejects.toMatchObject({ code: '22P02' });
    await expect(database.query('select nothing')).rejects.toMatchObject({ code: '42703' });
    expect(await Promise.all([1, 2, 3].map(divide))).toEqual([[{ n: 6 }], [{ n: 3 }], [{ n: 2 }]]);
  });
});
