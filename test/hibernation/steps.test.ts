import { pino } from 'pino';
import { expect, it } from 'vitest';
import type { HibernationRequest, SessionSnapshot } from '../../contract/hibernation.ts';
import { Snapshots } from '../../controller/profiles/snapshots.ts';
import { sqlFleet } from '../../controller/store/fleet.ts';
import { sqlHibernations } from '../../controller/store/hibernations.ts';
import { protocol } from '../controller/protocol.ts';
import { connection, freshPostgres, lockAwaited } from '../postgres.ts';
import { keeperOn, stateOf } from '../profiles/keeper.ts';

const WORK = { name: 'work', mode: 'read-write' } as const;
/** With a time to live of 600 s: the lease is about to expire. */
const IDLE_SECONDS = 575;
const snapshotOf = (value: string): SessionSnapshot => ({
  tabs: [{ url: `https://shop.example/${value}`, sessionStorage: [['step', value]], scroll: [0, 40] }],
  active: 0,
  state: stateOf(value),
  tainted: false,
});
const idle = (value: string): HibernationRequest => ({
  why: 'idle',
  idle_seconds: IDLE_SECONDS,
  snapshot: snapshotOf(value),
});

async function world(userLimit = 20) {
  const database = await freshPostgres();
  const p = protocol(database, { userLimit });
  await p.warm(8);
  const kept = await keeperOn(database);
  const hibernations = sqlHibernations(database);
  const snapshots = new Snapshots({
    ...{ hibernations, objects: kept.objects, keepSeconds: 3_600 },
    log: pino({ level: 'silent' }),
  });
  const idleLease = async (change: Parameters<typeof p.lease>[0] = {}) => {
    const lease = await p.lease({ hibernate: 'expiry', ...change });
    await p.age(lease.session.id, IDLE_SECONDS + 1);
    return lease;
  };
  const hibernated = async (change: Parameters<typeof p.lease>[0] = {}, value = 'first') => {
    const lease = await idleLease(change);
    await snapshots.keep(p.leaseOf(lease), idle(value));
    await p.fleet.markAcknowledged(lease.runner.id);
    return lease;
  };
  const kinds = async (id: string) => (await p.directory.events(id, { limit: 50 })).events.map(({ kind }) => kind);
  /** Rows of profiles, of their objects and of keys. */
  const left = async () => {
    await kept.keeper.sweep();
    const [row] = await database.query<{ rows: number }>(
      `select (select count(*) from omicron.profiles) + (select count(*) from omicron.profile_objects)
            + (select count(*) from omicron.profile_keys) as rows`,
    );
    return Number(row?.rows);
  };
  return { database, p, ...kept, hibernations, snapshots, idleLease, hibernated, kinds, left };
}

it('keeps the session without its runner, and gives the snapshot to the runner of the next start alone', async () => {
  const { p, snapshots, hibernated, hibernations, kinds, left } = await world();
  const before = await hibernated();
  expect(await p.session(before.session.id)).toMatchObject({ status: 'hibernated', mcp_url: null, claim_id: null });
  expect(await p.runner(before.runner.id)).toMatchObject({ state: 'draining', reason: 'hibernated' });
  const next = await p.claim();
  expect(next.session).toMatchObject({ id: before.session.id, epoch: 2, status: 'starting' });
  expect(await hibernations.ofStart(p.leaseOf(next))).toBeNull(); // not redeemed yet
  expect(await p.redeem(next)).toMatchObject({ outcome: 'redeemed', restores: true });
  await expect(snapshots.ofStart(p.leaseOf(before))).rejects.toMatchObject({ code: 'lease_ended' });
  expect(await snapshots.ofStart(p.leaseOf(next))).toEqual(snapshotOf('first'));
  expect(await p.makeReady(next)).toMatchObject({ status: 'ready', hibernated_until: null });
  await expect(snapshots.ofStart(p.leaseOf(next))).rejects.toMatchObject({ code: 'lease_ended' });
  expect(await kinds(before.session.id)).toEqual(
    expect.arrayContaining(['session.hibernated', 'session.restored', 'session.ready']),
  );
  expect(await left()).toBe(0);
});

it('is refused for a lease that was used since, however the two race', async () => {
  const { database, p, snapshots, idleLease } = await world();
  const lease = await p.lease();
  await expect(snapshots.keep(p.leaseOf(lease), idle('young'))).rejects.toMatchObject({ code: 'lease_in_use' });
  await p.age(lease.session.id, IDLE_SECONDS + 1);
  const renewing = await connection(database.url);
  await renewing.query('begin');
  await renewing.query('select omicron.report_activity(p_session => $1, p_epoch => 1, p_runner => $2, p_calls => 1)', [
    lease.session.id,
    lease.runner.id,
  ]);
  const keeping = snapshots.keep(p.leaseOf(lease), idle('raced')).catch((error: unknown) => error);
  await lockAwaited(database);
  await renewing.query('commit');
  expect(await keeping).toMatchObject({ code: 'lease_in_use' });

  const other = await idleLease({ conversationId: 'c2' });
  const raced = await Promise.all([
    p.acquire({ conversationId: 'c2' }),
    snapshots.keep(p.leaseOf(other), idle('other')).then(
      () => 'hibernated',
      ({ code }: { code: string }) => code,
    ),
  ]);
  expect([
    ['renewed', 'lease_in_use'],
    ['claimed', 'hibernated'],
  ]).toContainEqual([raced[0].outcome, raced[1]]);
});

it('[E1] a lease that did not ask, or that a heartbeat holds, is not hibernated', async () => {
  const { p, snapshots, hibernations, idleLease } = await world();
  const asked = await idleLease();
  const held = await idleLease({ conversationId: 'held' });
  await idleLease({ conversationId: 'plain', hibernate: undefined });
  await idleLease({ conversationId: 'node', hibernate: 'node' });
  await p.lease({ conversationId: 'young', hibernate: 'expiry' });
  await p.leases.heartbeat(held.session.id, 'ada', 1);
  const expiring = await hibernations.expiring('local', 9);
  expect(expiring.map(({ id }) => id)).toEqual([asked.session.id]);
  await expect(snapshots.keep(p.leaseOf(held), idle('held'))).rejects.toMatchObject({ code: 'lease_in_use' });
  const atLast = await p.lease({ conversationId: 'aged', hibernate: 'expiry', ttlSeconds: 3_600 });
  await p.age(atLast.session.id, 3_590); // its maximum age ends it
  expect(await hibernations.expiring('local', 9)).toEqual([]);
});

it('a lease that is about to expire is chosen once, and again after it was used or its runner has not answered', async () => {
  const { database, p, hibernations, idleLease } = await world();
  const ids = async () => (await hibernations.expiring('local', 9)).map(({ id }) => id);
  const first = await idleLease();
  const other = await connection(database.url);
  await other.query('begin');
  await other.query(`select omicron.expiring_leases('local', 9)`);
  const second = await idleLease({ conversationId: 'c2' });
  expect(await ids()).toEqual([second.session.id]);
  await other.query('commit');
  expect(await ids()).toEqual([]);

  await p.broker.reportActivity(p.leaseOf(first), 1);
  await p.age(first.session.id, IDLE_SECONDS + 1);
  expect(await ids()).toEqual([first.session.id]);
  await database.query(`update omicron.browser_sessions set yields_until = yields_until - interval '20 seconds'`);
  expect((await ids()).sort()).toEqual([first.session.id, second.session.id].sort());
});

it('happens once when two controllers carry it out', async () => {
  const { p, snapshots, idleLease, kinds } = await world();
  const lease = await idleLease();
  const both = await Promise.allSettled(['a', 'b'].map(value => snapshots.keep(p.leaseOf(lease), idle(value))));
  expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  expect((await kinds(lease.session.id)).filter(kind => kind === 'session.hibernated')).toHaveLength(1);
  const winner = both[0]?.status === 'fulfilled' ? 'a' : 'b';
  await p.fleet.markAcknowledged(lease.runner.id);
  const next = await p.claim();
  await p.redeem(next);
  expect(await snapshots.ofStart(p.leaseOf(next))).toEqual(snapshotOf(winner));
});

it('a runner of an earlier epoch cannot hibernate the session', async () => {
  const { p, snapshots, idleLease } = await world();
  const old = await idleLease();
  await p.leases.end(old.session.id, null, null, 'released');
  await p.fleet.markAcknowledged(old.runner.id);
  const current = await p.lease();
  await expect(snapshots.keep(p.leaseOf(old), { ...idle('late'), idle_seconds: 0 })).rejects.toMatchObject({
    code: 'lease_superseded',
  });
  expect(await p.session(current.session.id)).toMatchObject({ status: 'ready', epoch: 2 });
});

it('a start that fails leaves the session hibernated, and the next one restores it', async () => {
  const { p, database, snapshots, hibernated, kinds } = await world();
  const { session } = await hibernated();
  const failed = await p.claim();
  await p.redeem(failed);
  await p.leases.fail(p.claimOf(failed), 'runner_start_failed', 'It did not start.');
  await p.fleet.markAcknowledged(failed.runner.id);
  expect(await p.session(session.id)).toMatchObject({ status: 'hibernated', error: 'It did not start.' });
  const lost = await p.claim();
  await p.redeem(lost);
  await p.fleet.markLost(lost.runner.id, 'ended', 'runner_lost', 'It was killed.');
  const slow = await p.claim();
  await database.query(`update omicron.browser_sessions set starting_since = starting_since - interval '1 hour'`);
  await database.query(`update omicron.runners set launched_at = launched_at - interval '1 hour'`);
  expect(await p.maintenance.failStuckStarts(5)).toEqual([session.id]);
  expect(await p.session(session.id)).toMatchObject({ status: 'hibernated', epoch: slow.session.epoch });
  const last = await p.claim();
  await p.redeem(last);
  expect(await snapshots.ofStart(p.leaseOf(last))).toEqual(snapshotOf('first'));
  expect(await p.makeReady(last)).toMatchObject({ status: 'ready', error: null });
  expect((await kinds(session.id)).filter(kind => kind === 'session.restore_failed')).toHaveLength(3);
});

it.each<[string, (p: ReturnType<typeof protocol>, id: string) => Promise<unknown>]>([
  ['its user ends it', (p, id) => p.leases.end(id, null, null, 'released')],
  ['its user archives it', (p, id) => p.directory.archive(id, 'ada')],
  [
    'it was kept for long enough',
    async (p, id) => {
      await p.age(id, 3_601);
      expect(await p.maintenance.expire(5)).toEqual([id]);
    },
  ],
])('leaves nothing when %s', async (_when, end) => {
  const { p, hibernated, left } = await world();
  const { session } = await hibernated();
  expect(await left()).toBe(3); // the private profile, its object, the user's key
  await end(p, session.id);
  expect(await p.session(session.id)).toMatchObject({ status: 'ended', hibernated_until: null });
  expect(await left()).toBe(0);
});

it('takes no place of its user’s quota, and holds no profile', async () => {
  const { p, hibernated, keeper } = await world(1);
  const first = await hibernated({ profile: WORK });
  await keeper.release(p.leaseOf(first));
  const second = await p.lease({ conversationId: 'c2', profile: WORK });
  expect(await p.acquire()).toMatchObject({ outcome: 'refused', code: 'profile_in_use', holder: second.session.id });
  expect(await p.leases.heartbeat(first.session.id, 'ada', 1)).toMatchObject({ outcome: 'hibernated' });
  await p.leases.end(second.session.id, null, null, 'released');
  await keeper.release(p.leaseOf(second));
  expect(await p.acquire({ profile: { name: 'home', mode: 'read-write' } })).toMatchObject({
    code: 'profile_mismatch',
  });
  const back = await p.claim(); // names no profile, and keeps its own
  expect(back.session.options.profile).toMatchObject(WORK);
});

it('a runner whose machine goes away has some seconds for it', async () => {
  const { database, p, snapshots } = await world();
  const fleet = sqlFleet(database, { graceSeconds: 12 });
  const lease = await p.lease({ hibernate: 'node' });
  expect(await fleet.markLost(lease.runner.id, 'leaving', 'runner_lost', 'It is leaving.')).toBe('leaving');
  await snapshots.keep(p.leaseOf(lease), { why: 'node', idle_seconds: 0, snapshot: snapshotOf('node') });
  expect(await p.session(lease.session.id)).toMatchObject({ status: 'hibernated' });
  const other = await p.lease({ conversationId: 'c2', hibernate: 'node' });
  await fleet.markLost(other.runner.id, 'leaving', 'runner_lost', 'It is leaving.');
  await database.query(`update omicron.runners set leaving_at = leaving_at - interval '13 seconds'`);
  expect(await fleet.markLost(other.runner.id, 'leaving', 'runner_lost', 'It is leaving.')).toBe('lost');
  const plain = await p.lease({ conversationId: 'c3' });
  expect(await fleet.markLost(plain.runner.id, 'leaving', 'runner_lost', 'It is leaving.')).toBe('lost');
});
