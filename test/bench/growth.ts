import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Database } from '../../controller/ports/database.ts';
import { protocol } from '../controller/protocol.ts';

const GROWN = 1_000;
const EVENTS = 14;

const TABLES = ['session_events', 'browser_sessions', 'artifacts', 'runners', 'user_actions'] as const;

/** Megabytes that 1,000 whole sessions add to each table, with its indexes. */
export async function measureGrowth(database: Database): Promise<Record<string, number>> {
  const p = protocol(database, { userLimit: GROWN * 2 });
  const sizes = async () => {
    const rows = await database.query<{ name: string; bytes: number }>(
      `select relname as name, pg_total_relation_size(relid)::float8 as bytes from pg_stat_user_tables where schemaname = 'omicron'`,
    );
    return Object.fromEntries(rows.map(({ name, bytes }) => [name, bytes]));
  };
  const before = await sizes();
  for (let n = 0; n < GROWN; n++) {
    await p.warm(1);
    const leased = await p.lease({ userId: `grown-${n}` });
    const lease = p.leaseOf(leased);
    const events = Array.from({ length: EVENTS - 4 }, () => ({
      id: randomUUID(),
      age_ms: 0,
      kind: 'tool.call',
      data: { tool: 'browser_navigate', ms: 120, url: 'https://shop.example/some/path/that/is/usual', outcome: 'ok' },
    }));
    await database.query('select omicron.write_events($1, 1, $2, $3)', [
      lease.session_id,
      lease.runner_id,
      JSON.stringify(events),
    ]);
    await database.query(`select omicron.ask_user($1, 1, $2, gen_random_uuid(), 'Please solve the captcha', 60)`, [
      lease.session_id,
      lease.runner_id,
    ]);
    await p.leases.end(lease.session_id, null, null, 'released');
    await p.fleet.markGone(lease.runner_id);
  }
  const after = await sizes();
  return Object.fromEntries(
    TABLES.map(table => [table, Math.round(((after[table] ?? 0) - (before[table] ?? 0)) / 2 ** 14) / 64]),
  );
}

/** The same by docs/operations.md, whose table has these columns in this order. */
function documentedGrowth(): Record<string, number> {
  const page = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8');
  const [, row = ''] =
    /^\| events \| sessions \| artifact rows \| runners \| user actions.*\n\|[-:|]+\|\n\|(.+)\|$/m.exec(page) ?? [];
  const values = row.split('|').map(Number);
  if (values.length !== TABLES.length || values.some(Number.isNaN))
    throw new Error('docs/operations.md has no table of growth');
  return Object.fromEntries(TABLES.map((table, n) => [table, values[n] ?? 0]));
}

/** Tables that grow by more than half, or less, than docs/operations.md says. */
export const wrongGrowth = (grown: Readonly<Record<string, number>>): string[] =>
  Object.entries(documentedGrowth())
    .filter(([table, megabytes]) => !((grown[table] ?? 0) > megabytes / 2 && (grown[table] ?? 0) < megabytes * 1.5))
    .map(([table, megabytes]) => `${table}: ${grown[table]} MB, and docs/operations.md says ${megabytes}`);
