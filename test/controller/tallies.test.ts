import { expect, it } from 'vitest';
import { connection, freshPostgres } from '../postgres.ts';
import { protocol } from './protocol.ts';

const CONNECTIONS = 16;

/** Connections of one server follow one another; a pid of others between them may make two write the same row. */
async function apart(url: string, other: number) {
  for (;;) {
    const client = await connection(url);
    const { rows } = await client.query<{ shard: number }>('select pg_backend_pid() % 32 as shard');
    if (rows[0]?.shard !== other) return { client, shard: rows[0]?.shard ?? -1 };
  }
}

it('an end of a lease waits for no other that has not committed yet', async () => {
  const database = await freshPostgres();
  const p = protocol(database);
  await p.warm(2);
  const leases = [await p.lease({ conversationId: 'c1' }), await p.lease({ conversationId: 'c2' })];
  const first = await apart(database.url, -1);
  const second = await apart(database.url, first.shard);
  const end = 'select omicron.end_lease($1, null, null, $2), omicron.drain_acknowledged($3), omicron.runner_gone($3)';
  const [held, free] = leases.map(({ session, runner }) => [session.id, 'released', runner.id]);
  await first.client.query('begin');
  await first.client.query(end, held);
  await second.client.query(`set lock_timeout = '1s'`);
  await second.client.query(end, free);
  expect((await p.directory.stats()).ended).toEqual({ released: 1 });
  await first.client.query('commit');
  expect((await p.directory.stats()).ended).toEqual({ released: 2 });
});

it('totals are exact after ends on many connections, and an aborted one counts nothing', async () => {
  const database = await freshPostgres(CONNECTIONS);
  const p = protocol(database, { userLimit: 64 });
  await p.warm(64);
  const leases = [];
  for (let n = 0; n < 64; n++) leases.push(await p.lease({ conversationId: `c${n}` }));
  const aborted = await connection(database.url);
  await aborted.query('begin');
  await aborted.query(`select omicron.end_lease($1, null, null, 'released')`, [leases[0]?.session.id]);
  await aborted.query('rollback');
  await Promise.all(leases.map(({ session }) => p.leases.end(session.id, null, null, 'released')));
  const shards = await database.query(`select from omicron.tally_shards where metric = 'sessions_ended'`);
  expect(shards.length).toBeGreaterThan(1);
  expect((await p.directory.stats()).ended).toEqual({ released: 64 });
});
