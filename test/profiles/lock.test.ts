import { expect, it } from 'vitest';
import { protocol } from '../controller/protocol.ts';
import { eventually } from '../eventually.ts';
import { connection, freshPostgres, lockAwaited } from '../postgres.ts';
import { contentOf, keeperOn, stateOf } from './keeper.ts';

const WORK = { name: 'work', mode: 'read-write' } as const;
const READ = { name: 'work', mode: 'read-only' } as const;

const world = async () => {
  const database = await freshPostgres();
  const p = protocol(database, { userLimit: 20 });
  await p.warm(8);
  return { database, p, ...(await keeperOn(database)) };
};

it('admits one writer of ten that ask at once', async () => {
  const { p } = await world();
  const asked = await Promise.all(
    Array.from({ length: 10 }, (_, place) => p.acquire({ conversationId: `c${place}`, profile: WORK })),
  );
  const [winner, ...others] = asked.filter(({ outcome }) => outcome === 'claimed');
  expect(others).toEqual([]);
  const holder = winner?.outcome === 'claimed' ? winner.session.id : undefined;
  for (const each of asked.filter(({ outcome }) => outcome !== 'claimed'))
    expect(each).toMatchObject({
      outcome: 'refused',
      code: 'profile_in_use',
      holder,
      retryAfterMs: expect.any(Number),
    });
});

it('sees a renewal that is under way: an expiring writer keeps its profile', async () => {
  const { database, p } = await world();
  const writer = await p.lease({ profile: WORK, ttlSeconds: 600 });
  const renewing = await connection(database.url);
  await p.age(writer.session.id, 597);
  await renewing.query('begin');
  await renewing.query('select omicron.heartbeat(p_session => $1, p_user => null, p_epoch => null)', [
    writer.session.id,
  ]);
  // The database's clock cannot be stepped: others still read the old row, in which the lease runs out.
  await eventually('the end of what the lease had left', async () => {
    const over = 'select from omicron.browser_sessions where id = $1 and expires_at < clock_timestamp()';
    return (await database.query(over, [writer.session.id])).length > 0;
  });
  const other = p.acquire({ conversationId: 'c2', profile: WORK });
  await lockAwaited(database);
  await renewing.query('commit');
  expect(await other).toMatchObject({ outcome: 'refused', code: 'profile_in_use' });
});

it('lets a user have other profiles, and others the same name', async () => {
  const { p } = await world();
  await p.lease({ profile: WORK });
  await p.lease({ conversationId: 'c2', profile: { name: 'home', mode: 'read-write' } });
  await p.lease({ userId: 'bob', conversationId: 'c3', profile: WORK });
  expect(await p.acquire({ userId: 'eve', conversationId: 'c4', profile: READ })).toMatchObject({
    code: 'profile_not_found',
  });
});

it('waits with the next lease until the one before has saved, and refuses its saves from then on', async () => {
  const { p, keeper, cookieOf } = await world();
  const first = await p.lease({ profile: WORK });
  await p.leases.end(first.session.id, null, null, 'released');
  const next = await p.claim({ conversationId: 'c2', profile: WORK });
  expect(await p.redeem(next)).toEqual({ outcome: 'wait' });
  expect(await keeper.saveFor(p.leaseOf(first), 0, contentOf('last words'))).toBe(1);
  await keeper.release(p.leaseOf(first));
  expect(await p.redeem(next)).toMatchObject({ outcome: 'redeemed' });
  await expect(keeper.saveFor(p.leaseOf(first), 1, contentOf('too late'))).rejects.toMatchObject({
    code: 'lease_superseded',
  });
  expect(await keeper.ofLease(p.leaseOf(next))).toMatchObject({ version: 1 });
  expect(await cookieOf('ada', 'work')).toBe('last words');
});

it('waits twenty seconds for a runner that says nothing; what it saves after that is refused', async () => {
  const { database, p, keeper } = await world();
  const stale = await p.lease({ profile: WORK });
  await p.leases.end(stale.session.id, null, null, 'released');
  await p.fleet.markAcknowledged(stale.runner.id);
  const next = await p.claim({ profile: WORK }); // the same session, a higher epoch
  expect(await p.redeem(next)).toEqual({ outcome: 'wait' });
  await database.query(`update omicron.runners set draining_at = draining_at - interval '21 seconds' where id = $1`, [
    stale.runner.id,
  ]);
  expect(await p.redeem(next)).toMatchObject({ outcome: 'redeemed' });
  await expect(keeper.saveFor(p.leaseOf(stale), 0, contentOf('stale'))).rejects.toMatchObject({
    code: 'lease_superseded',
  });
  expect(await keeper.saveFor(p.leaseOf(next), 0, contentOf('fresh'))).toBe(1);
});

it('saves nothing for a read-only lease, for another epoch, or over another version', async () => {
  const { p, keeper, cookieOf } = await world();
  const writer = await p.lease({ profile: WORK });
  const lease = p.leaseOf(writer);
  const reader = await p.lease({ conversationId: 'c2', profile: READ });
  const refusal = { code: 'lease_superseded' };
  await expect(keeper.saveFor(p.leaseOf(reader), 0, contentOf('x'))).rejects.toMatchObject(refusal);
  await expect(keeper.saveFor({ ...lease, epoch: 2 }, 0, contentOf('x'))).rejects.toMatchObject(refusal);
  await expect(keeper.saveFor({ ...lease, session_id: reader.session.id }, 0, contentOf('x'))).rejects.toMatchObject(
    refusal,
  );
  const both = await Promise.allSettled(['a', 'b'].map(value => keeper.saveFor(lease, 0, contentOf(value))));
  expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  expect(both.find(({ status }) => status === 'rejected')).toMatchObject({ reason: { code: 'profile_changed' } });
  const value = await cookieOf('ada', 'work');
  expect(await keeper.saveFor(lease, 1, contentOf(value ?? ''))).toBe(1); // nothing changed
});

it('refuses the platform while a lease has the profile, and lets it write after that', async () => {
  const { p, keeper, profiles } = await world();
  await keeper.import('ada', 'work', stateOf('one'));
  const writer = await p.lease({ profile: WORK });
  const inUse = { code: 'profile_in_use', extra: { session_id: writer.session.id } };
  await expect(keeper.import('ada', 'work', stateOf('two'))).rejects.toMatchObject(inUse);
  await expect(keeper.restore('ada', 'work', 1)).resolves.toBe(1); // it is what it was
  await expect(keeper.remove('ada', 'work')).rejects.toMatchObject(inUse);
  await p.leases.end(writer.session.id, null, null, 'released');
  await expect(keeper.remove('ada', 'work')).rejects.toMatchObject({ code: 'profile_in_use' }); // it may still save
  await keeper.release(p.leaseOf(writer));
  expect(await keeper.import('ada', 'work', stateOf('two'))).toBe(2);
  expect(await profiles.find('bob', 'work', null)).toBeNull();
});

it('follows a lease by one with another profile, or leaves it as it is where that profile is in use', async () => {
  const { p, keeper, cookieOf } = await world();
  const home = { name: 'home', mode: 'read-write' } as const;
  const before = await p.lease({ profile: WORK });
  const switched = await p.claim({ profile: home, profileSwitch: true });
  expect([switched.session.id, switched.session.epoch]).toEqual([before.session.id, before.session.epoch + 1]);
  expect(await p.redeem(switched)).toMatchObject({ outcome: 'wait' }); // the agent of the one before may still be served
  expect(await keeper.saveFor(p.leaseOf(before), 0, contentOf('last'))).toBe(1);
  await keeper.release(p.leaseOf(before));
  await p.fleet.markAcknowledged(before.runner.id);
  expect(await p.redeem(switched)).toMatchObject({ outcome: 'redeemed' });
  await p.makeReady(switched);
  const other = await p.lease({ conversationId: 'c2', profile: WORK });
  expect(await p.acquire({ profile: WORK, profileSwitch: true })).toMatchObject({
    ...{ outcome: 'refused', code: 'profile_in_use', holder: other.session.id },
  });
  const renewed = await p.acquire({ profile: home, profileSwitch: true });
  expect(renewed).toMatchObject({ outcome: 'renewed', session: { epoch: switched.session.epoch, status: 'ready' } });
  expect(await p.claim({ profileSwitch: true })).toMatchObject({ session: { epoch: switched.session.epoch + 1 } });
  expect(await cookieOf('ada', 'work')).toBe('last');
});
