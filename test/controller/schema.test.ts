import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { expect, it } from 'vitest';
import { migrate } from '../../controller/store/migrate.ts';
import { postgresDatabase } from '../../controller/store/postgres.ts';
import { emptyDatabaseUrl, freshPostgres } from '../postgres.ts';
import { protocol } from './protocol.ts';

it('[O6] browser_sessions has every column, default, constraint and index of the document it comes from', async () => {
  const database = await freshPostgres();
  const columns = await database.query<{ name: string; type: string; null: boolean; has_default: boolean }>(
    `select column_name as name, data_type as type, is_nullable = 'YES' as null, column_default is not null as has_default
       from information_schema.columns where table_schema = 'omicron' and table_name = 'browser_sessions'`,
  );
  const found = Object.fromEntries(columns.map(({ name, ...rest }) => [name, rest]));
  const text = { type: 'text', null: false, has_default: false };
  const time = { type: 'timestamp with time zone', null: false, has_default: true };
  expect(found).toMatchObject({
    id: { type: 'uuid', null: false, has_default: true },
    user_id: text,
    conversation_id: text,
    status: text,
    mcp_url: { ...text, null: true },
    k8s_namespace: text,
    pod_name: { ...text, null: true },
    service_name: { ...text, null: true },
    created_at: time,
    updated_at: time,
    last_used_at: time,
    expires_at: { ...time, has_default: false },
    claim_id: { type: 'uuid', null: true, has_default: false },
    error: { ...text, null: true },
    artifacts_s3_prefix: { ...text, null: true },
  });
  const indexes = await database.query<{
    columns: string[];
    is_unique: boolean;
    is_primary: boolean;
    partial: boolean;
  }>(
    `select array(select attname::text from unnest(indkey::int2[]) with ordinality k(n, o)
                    join pg_attribute on attrelid = indrelid and attnum = n order by o) as columns,
            indisunique as is_unique, indisprimary as is_primary, indpred is not null as partial
       from pg_index where indrelid = 'omicron.browser_sessions'::regclass`,
  );
  const has = (columns: string[], wanted: object) =>
    expect(indexes).toContainEqual(expect.objectContaining({ columns, partial: false, ...wanted }));
  has(['id'], { is_primary: true });
  has(['user_id', 'conversation_id'], { is_unique: true });
  has(['expires_at'], {});
  has(['status'], {});

  const insert = (status: string, conversation: string = randomUUID()) =>
    database.query(
      `insert into omicron.browser_sessions (user_id, conversation_id, status, k8s_namespace, provider, epoch, ttl_seconds, expires_at, ends_at, options)
         values ('ada', $2, $1, 'ns', 'local', 1, 600, now(), now(), '{}')`,
      [status, conversation],
    );
  await insert('ended', 'c1');
  await insert('error');
  await expect(insert('ended', 'c1')).rejects.toMatchObject({ code: '23505' });
  await expect(insert('asleep')).rejects.toMatchObject({ code: '23514' });
});

it('the table refuses what no step may do: a falling epoch, a revived lease, an endless one, a second runner of an epoch', async () => {
  const database = await freshPostgres();
  const p = protocol(database);
  await p.warm(2);
  const leased = await p.lease();
  const set = (change: string) =>
    database.query(`update omicron.browser_sessions set ${change} where id = $1`, [leased.session.id]);
  await expect(set('epoch = 0')).rejects.toThrow(/epoch/);
  await expect(set(`expires_at = ends_at + interval '1 second'`)).rejects.toMatchObject({ code: '23514' });
  await p.leases.end(leased.session.id, null, null, 'released');
  await expect(set(`status = 'ready'`)).rejects.toThrow(/may not go/);
  await expect(
    database.query(`update omicron.runners set state = 'warm' where id = $1`, [leased.runner.id]),
  ).rejects.toThrow(/may not go from draining to warm/);
  const next = await p.claim();
  await expect(
    database.query(
      `insert into omicron.runners (provider, template, session_id, epoch) values ('local', 't1', $1, $2)`,
      [next.session.id, next.session.epoch],
    ),
  ).rejects.toMatchObject({ code: '23505' });
});

it('is brought up by many replicas at once, and again, without harm', async () => {
  const url = await emptyDatabaseUrl();
  const log = pino({ level: 'silent' });
  const replicas = Array.from({ length: 4 }, () => postgresDatabase({ url, connectionsMax: 2, log }));
  try {
    await Promise.all(replicas.map(each => migrate(each)));
    await Promise.all(replicas.map(each => migrate(each)));
    const [one] = replicas;
    const rows = await one?.query<{ name: string }>('select name from omicron.migrations order by name');
    expect(rows?.length).toBeGreaterThan(0);
    expect(new Set(rows?.map(row => row.name)).size).toBe(rows?.length);
  } finally {
    for (const each of replicas) await each.close();
  }
});
