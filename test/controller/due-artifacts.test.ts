import { expect, it } from 'vitest';
import type { Database } from '../../controller/ports/database.ts';
import { type DueArtifact, sqlMaintenance } from '../../controller/store/maintenance.ts';
import { connection, freshPostgres } from '../postgres.ts';

const ROWS = 30_000;
const BATCH = 200;
const RETENTION = { videos: 30, pages: 7 };

/** Artifacts of 0 to 40 days, ten of each moment, every second one a page; half of them have expired. */
const FILL = `
  set session_replication_role = replica;
  insert into omicron.artifacts (session_id, epoch, runner_id, name, kind, state, uri, bytes, created_at, due_at)
    select gen_random_uuid(), 1, gen_random_uuid(), 'n' || n, case n % 2 when 0 then 'page' else 'video' end, case n / 2 % 2 when 0 then 'stored' else 'expired' end, 'file:///' || n, 1, at, at
      from generate_series(1, ${ROWS}) n, lateral (select now() - make_interval(days => 40) * (n / 10) / ${ROWS / 10} as at) made;
  analyze omicron.artifacts`;

interface Plan {
  'Node Type': string;
  'Actual Rows'?: number;
  'Rows Removed by Filter'?: number;
  Plans?: Plan[];
}
const nodes = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodes)];

async function world() {
  const database = await freshPostgres();
  await (await connection(database.url)).query(FILL);
  const asked: { sql: string; parameters: readonly unknown[] }[] = [];
  const observed: Database = {
    ...database,
    query: (sql, parameters = []) => {
      asked.push({ sql, parameters });
      return database.query(sql, parameters);
    },
  };
  const plan = async ({ sql, parameters }: { sql: string; parameters: readonly unknown[] }) => {
    const [row] = await database.query<{ 'QUERY PLAN': [{ Plan: Plan }] }>(
      `explain (analyze, costs off, format json) ${sql}`,
      parameters,
    );
    if (!row) throw new Error('no plan');
    return nodes(row['QUERY PLAN'][0].Plan);
  };
  return { database, maintenance: sqlMaintenance(observed, { startSeconds: 1 }), asked, plan };
}

type World = Awaited<ReturnType<typeof world>>;
const KINDS: [string, string, (w: World, after: DueArtifact | null) => Promise<DueArtifact[]>][] = [
  [
    'artifacts past their retention',
    `created_at < now() - make_interval(days => case kind when 'page' then 7 else 30 end)`,
    ({ maintenance }, after) => maintenance.expiredArtifacts(RETENTION, BATCH, after),
  ],
  [
    'files of sessions that are over',
    'due_at <= now()',
    ({ maintenance }, after) => maintenance.dueFiles(BATCH, after),
  ],
];

it.each(KINDS)(
  'a batch of %s reads as many rows of an index as it has, and each row is in one batch',
  async (_name, due, next) => {
    const w = await world();
    const seen: string[] = [];
    for (let after: DueArtifact | null = null; ; ) {
      const batch = await next(w, after);
      seen.push(...batch.map(({ id }) => id));
      after = batch.at(-1) ?? null;
      if (batch.length < BATCH) break;
    }
    const expected = await w.database.query<{ id: string }>(
      `select id from omicron.artifacts where state = 'stored' and ${due} order by created_at, id`,
    );
    expect(expected.length).toBeGreaterThan(ROWS / 4);
    expect(seen).toEqual(expected.map(({ id }) => id));

    for (const query of [w.asked[0], w.asked[Math.floor(w.asked.length / 2)]]) {
      const plan = await w.plan(query ?? { sql: '', parameters: [] });
      const reads = plan.filter(node => node['Node Type'].includes('Scan') && node['Node Type'] !== 'Subquery Scan');
      expect(reads.map(node => node['Node Type'])).not.toContain('Seq Scan');
      const read = reads.map(node => (node['Actual Rows'] ?? 0) + (node['Rows Removed by Filter'] ?? 0));
      expect(Math.max(...read)).toBeLessThanOrEqual(BATCH + 10);
      expect(reads.length).toBeGreaterThan(0);
    }
  },
);
