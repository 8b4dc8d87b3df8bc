import { expect, it } from 'vitest';
import { freshPostgres } from '../postgres.ts';
import { protocol } from './protocol.ts';

const LEASES = 20;
const ROUNDS = 15;

it('at least 80 % of heartbeats and reports write to no index', async () => {
  const database = await freshPostgres(1);
  const p = protocol(database, { userLimit: LEASES });
  await p.warm(LEASES);
  // An ANALYZE by the way keeps old versions of rows for as long as it takes, which on a busy machine fills the pages.
  for (const table of ['browser_sessions', 'runners'])
    await database.query(`alter table omicron.${table} set (autovacuum_enabled = false)`);
  const leases = [];
  for (let n = 0; n < LEASES; n++) leases.push(await p.lease({ conversationId: `c${n}` }));
  const updates = async () => {
    await database.query('select pg_stat_force_next_flush()');
    const [row] = await database.query<{ hot: number; all: number }>(
      `select sum(n_tup_hot_upd)::int as hot, sum(n_tup_upd)::int as all from pg_stat_user_tables where relname in ('browser_sessions', 'runners')`,
    );
    return row ?? { hot: 0, all: 0 };
  };
  const before = await updates();
  for (let round = 0; round < ROUNDS; round++)
    for (const lease of leases) {
      await p.leases.heartbeat(lease.session.id, null, null);
      await p.broker.reportActivity(p.leaseOf(lease), 1);
    }
  const after = await updates();
  expect(after.all - before.all).toBe(3 * LEASES * ROUNDS); // a report moves its runner's deadline too
  expect((after.hot - before.hot) / (after.all - before.all)).toBeGreaterThan(0.8);
});

it('lists live sessions with a tag by page, newest first', async () => {
  const p = protocol(await freshPostgres(), { userLimit: 9 });
  await p.warm(5);
  for (let n = 0; n < 5; n++) await p.lease({ conversationId: `c${n}`, tags: { team: n === 2 ? 'other' : 'ops' } });
  const query = { limit: 3, archived: false, status: 'ready', tag: { team: 'ops' } } as const;
  const first = await p.directory.list(query);
  const rest = await p.directory.list({ ...query, cursor: first.nextCursor ?? '' });
  expect([...first.sessions, ...rest.sessions].map(each => each.conversation_id)).toEqual(['c4', 'c3', 'c1', 'c0']);
  expect(rest.nextCursor).toBeNull();
});
