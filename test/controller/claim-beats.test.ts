import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import type { Database } from '../../controller/ports/database.ts';
import { eventually } from '../eventually.ts';
import { freshPostgres } from '../postgres.ts';
import { protocol } from './protocol.ts';

const STARTS = 200;

/** A database that counts the statements of its claims. */
async function counted() {
  const database = await freshPostgres();
  const counts = { one: 0, many: 0 };
  const counting: Database = {
    ...database,
    query(sql, parameters) {
      if (sql.includes('beat_claim(')) counts.one += 1;
      if (sql.includes('beat_claims(')) counts.many += 1;
      return database.query(sql, parameters);
    },
  };
  const p = protocol(counting, { claimSeconds: 15, userLimit: STARTS });
  await p.maintenance.setCapacity(STARTS);
  return { database, counts, p };
}

it('keeps the claims of many starts in few statements, and says which of them are over', async () => {
  const { database, counts, p } = await counted();
  const claims = [];
  for (let n = 0; n < STARTS; n++) claims.push(p.claimOf(await p.claim({ conversationId: `c${n}`, ttlSeconds: 900 })));
  await database.query(`update omicron.browser_sessions set claim_until = clock_timestamp() + interval '1 second'`);
  await p.leases.fail(claims[7] ?? p.claimOf(await p.claim()), 'runner_start_failed', 'The disk is full.');
  const taken = { ...claims[9], claimId: randomUUID() } as (typeof claims)[number];
  const kept = await Promise.all(claims.map((claim, n) => p.leases.beat(n === 9 ? taken : claim)));
  expect(kept.flatMap((isKept, n) => (isKept ? [] : [n]))).toEqual([7, 9]);
  expect(counts.one + counts.many).toBeLessThanOrEqual(3);
  const [row] = await database.query<{ kept: number }>(
    `select count(*)::int as kept from omicron.browser_sessions where claim_until > clock_timestamp() + interval '10 seconds'`,
  );
  expect(row?.kept).toBe(STARTS - 2);
});

it('a session that another statement holds delays its own claim alone', async () => {
  const { database, p } = await counted();
  const [held, free, other] = [
    p.claimOf(await p.claim({ conversationId: 'held' })),
    p.claimOf(await p.claim({ conversationId: 'free' })),
    p.claimOf(await p.claim({ conversationId: 'other' })),
  ];
  const holding = database.query(
    `with held as (select id from omicron.browser_sessions where id = $1 for update) select pg_sleep(2) from held`,
    [held.sessionId],
  );
  await eventually('the row is held', async () => {
    const rows = await database.query(
      `select 1 from pg_stat_activity where query like 'with held as%' and wait_event = 'PgSleep'`,
    );
    return rows.length > 0;
  });
  const order: string[] = [];
  const beat = async (name: string, claim: typeof held) => {
    expect(await p.leases.beat(claim)).toBe(true);
    order.push(name);
  };
  // the first goes alone, and those that come meanwhile together
  await Promise.all([beat('free', free), beat('held', held), beat('other', other)]);
  expect(order.at(-1)).toBe('held');
  await holding;
});
