import { expect, it } from 'vitest';
import { freePort } from '../../local/free-port.ts';
import { eventually } from '../eventually.ts';
import { freshPostgres } from '../postgres.ts';
import { protocol } from './protocol.ts';
import { deployment, startStack } from './stack.ts';

// Two bugs that peers had, and what several replicas must not do to each other.

it('a pool that shrinks never takes a runner that was just claimed, over many rounds on two replicas', async () => {
  const database = await freshPostgres(16);
  const [one, two] = [protocol(database, { userLimit: 10_000 }), protocol(database, { userLimit: 10_000 })];
  await one.maintenance.setCapacity(1_000);
  let claims = 0;
  for (let round = 0; round < 60; round++) {
    await one.warm(6); // full; then both pools want two while eight callers claim
    const [claimed] = await Promise.all([
      Promise.all(
        Array.from({ length: 8 }, (_, n) =>
          (n % 2 ? one : two).claim({ userId: `u${round}`, conversationId: `c${n}` }),
        ),
      ),
      ...Array.from({ length: 6 }, (_, n) => (n % 2 ? one : two).fleet.plan('local', 't1', n % 3, 4)),
    ]);
    for (const { session, runner } of claimed) {
      claims += 1;
      const now = await one.runner(runner.id);
      expect(['creating', 'claimed'], `round ${round}: ${now.reason}`).toContain(now.state);
      expect(now).toMatchObject({ session_id: session.id, epoch: session.epoch });
      if (now.state === 'claimed')
        expect(await one.redeem({ session, runner: now, outcome: 'claimed', evicted: false })).toMatchObject({
          outcome: 'redeemed',
        });
      await one.leases.end(session.id, null, null, 'released');
    }
    for (const row of await one.fleet.living('local')) if (row.state === 'draining') await one.fleet.markGone(row.id);
  }
  expect(claims).toBe(480);
});

it('two whole controllers that fill and shrink the same pool lose no lease', async () => {
  await using shared = await deployment({ OMICRON_USER_LIMIT: 1_000, OMICRON_POOL_BURST: 8 });
  await using big = await startStack({ OMICRON_POOL_IDLE: 6 }, shared);
  await using small = await startStack({ OMICRON_POOL_IDLE: 0 }, shared); // disagrees, and drains what the other makes
  for (let round = 0; round < 5; round++) {
    const leases = await Promise.all(
      Array.from({ length: 6 }, (_, n) => (n % 2 ? big : small).lease({ conversation_id: `r${round}-${n}` })),
    );
    for (const { mcp_url, mcp_headers } of leases)
      expect((await fetch(mcp_url ?? '', { method: 'POST', headers: mcp_headers ?? {} })).status).toBe(200);
    expect(new Set(leases.map(lease => lease.mcp_url)).size).toBe(6);
    await Promise.all(
      leases.map(lease => big.call('DELETE', `/internal/browser-sessions/${lease.session_id}?epoch=${lease.epoch}`)),
    );
  }
});

it('a controller restart loses no lease: the same one is renewed, its runner lives and goes on reporting', async () => {
  await using shared = await deployment({ OMICRON_PORT: await freePort(), OMICRON_POOL_IDLE: 1 });
  const before = await startStack({}, shared);
  const lease = await before.lease();
  const { runner } = await shared.machine.leased();
  await before.stop();
  expect((await fetch(lease.mcp_url ?? '', { method: 'POST', headers: lease.mcp_headers ?? {} })).status).toBe(200);
  await using after = await startStack({}, shared);
  expect(await after.lease()).toMatchObject({
    session_id: lease.session_id,
    epoch: lease.epoch,
    mcp_url: lease.mcp_url,
    mcp_headers: lease.mcp_headers,
  });
  expect((await runner.report('runner-activity', { calls: 1 })).status).toBe(200);
  // its loops work: another runner that died is marked lost, drained and replaced
  const warm = await eventually('a warm runner', () =>
    [...shared.machine.runners.values()].find(each => each.phase === 'warm' && each.exited === null),
  );
  warm.kill();
  await eventually('the dead one is gone', () => !shared.machine.runners.has(warm.id));
  await eventually('a new one', () => shared.machine.runners.size === 2);
  const [row] = await after.database.query<{ state: string }>(`select state from omicron.runners where id = $1`, [
    runner.id,
  ]);
  expect(row?.state).toBe('leased');
  expect(runner.exited).toBeNull();
});
