import pg from 'pg';
import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ENV } from '../../contract/names.ts';
import { migrate } from '../../controller/store/migrate.ts';
import { postgresDatabase } from '../../controller/store/postgres.ts';
import { missesPgbouncer, transactionPooler } from '../pgbouncer.ts';
import { emptyDatabaseUrl } from '../postgres.ts';
import { protocol } from './protocol.ts';
import { startStack } from './stack.ts';

// Supabase's pooler lends a server connection for one transaction: nothing may be left on it.

const SERVER_CONNECTIONS = 3;

/** A migrated database behind a pooler that has fewer connections than the controller. */
async function pooled(connectionsMax = 12) {
  const pooler = await transactionPooler(await emptyDatabaseUrl(), SERVER_CONNECTIONS);
  onTestFinished(() => pooler[Symbol.asyncDispose]());
  const open = () => {
    const database = postgresDatabase({ url: pooler.url, connectionsMax, log: pino({ level: 'silent' }) });
    onTestFinished(() => database.close());
    return database;
  };
  const database = open();
  await Promise.all([migrate(database), migrate(open())]); // two replicas that start at once
  return { database, open, url: pooler.url };
}

describe.skipIf(missesPgbouncer('test/controller/pooler.test.ts'))('through a transaction pooler', () => {
  it('a named statement would fail and a session lock would leak: this is such a pooler', async () => {
    const { url } = await pooled();
    const clients = await Promise.all(
      Array.from({ length: 4 }, async () => {
        const client = new pg.Client(url);
        await client.connect();
        onTestFinished(() => client.end());
        return client;
      }),
    );
    const [a, b] = clients;
    const named = { name: 'step', text: 'select $1::int', values: [1] };
    const outcomes = await Promise.allSettled(clients.flatMap(client => [client.query(named), client.query(named)]));
    expect(outcomes.filter(({ status }) => status === 'rejected').length).toBeGreaterThan(0);
    await a?.query('select pg_advisory_lock(42)');
    const held = await b?.query(`select count(*)::int as n from pg_locks where locktype = 'advisory' and objid = 42`);
    await a?.end().catch(() => {});
    expect(held?.rows[0].n).toBe(1);
  });

  it('a lease is claimed, redeemed, renewed, reported, ended, and read page by page', async () => {
    const { database } = await pooled();
    const p = protocol(database);
    await p.warm(2);
    const leased = await p.lease({ tags: { team: 'ops' } });
    await p.age(leased.session.id, 100);
    expect(await p.acquire()).toMatchObject({ outcome: 'renewed', session: { epoch: 1 } });
    expect((await p.broker.reportActivity(p.leaseOf(leased), 1))?.remainingMs).toBeGreaterThan(500_000);
    expect(
      await p.broker.writeEvents(p.leaseOf(leased), [
        { id: crypto.randomUUID(), kind: 'tool.call', age_ms: 1, data: {} },
      ]),
    ).toBe(true);
    expect(await p.directory.list({ tag: { team: 'ops' }, archived: false, limit: 1 })).toMatchObject({
      sessions: [{ status: 'ready' }],
    });
    expect(await p.leases.end(leased.session.id, null, 1, 'released')).toMatchObject({ outcome: 'ended' });
    await p.fleet.markAcknowledged(leased.runner.id);
    await p.fleet.markGone(leased.runner.id);
    const next = await p.lease();
    expect(next.session).toMatchObject({ id: leased.session.id, epoch: 2 });
    await p.age(next.session.id, 601);
    expect(await p.maintenance.expire(10)).toEqual([leased.session.id]);
  });

  it('100 callers at once get one claim, and a user’s limit is exact, over few server connections', async () => {
    const { database, open } = await pooled();
    const replicas = [protocol(database), protocol(open())] as const;
    await replicas[0].maintenance.setCapacity(50);
    const on = (n: number) => replicas[n % 2 ? 1 : 0];
    const same = await Promise.all(Array.from({ length: 100 }, (_, n) => on(n).acquire({ userId: 'ada' })));
    expect(same.filter(({ outcome }) => outcome === 'claimed')).toHaveLength(1);
    expect(same.filter(({ outcome }) => outcome === 'starting')).toHaveLength(99);
    const many = await Promise.all(
      Array.from({ length: 40 }, (_, n) => on(n).acquire({ userId: 'bob', conversationId: `c${n}` })),
    );
    expect(many.filter(({ outcome }) => outcome === 'claimed')).toHaveLength(3);
    const backends = new Set<number>();
    await Promise.all(
      Array.from({ length: 40 }, async () => {
        const [row] = await database.query<{ pid: number }>('select pg_backend_pid() as pid');
        if (row) backends.add(row.pid);
      }),
    );
    expect(backends.size).toBeLessThanOrEqual(SERVER_CONNECTIONS);
    const [locks] = await database.query<{ n: number }>(
      `select count(*)::int as n from pg_locks where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())`,
    );
    expect(locks?.n).toBe(0);
  });

  it('a whole controller leases, at once and again', async () => {
    const { url } = await pooled();
    await using stack = await startStack({ [ENV.databaseUrl]: url, OMICRON_USER_LIMIT: 50 });
    const leases = await Promise.all(
      Array.from({ length: 10 }, (_, n) => stack.lease({ conversation_id: `c${n % 5}` })),
    );
    expect(new Set(leases.map(lease => lease.mcp_url)).size).toBe(5);
    for (const { mcp_url, mcp_headers } of leases)
      expect((await fetch(mcp_url ?? '', { method: 'POST', headers: mcp_headers ?? {} })).status).toBe(200);
  });
});
