import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { pino } from 'pino';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import type { Database } from '../../controller/ports/database.ts';
import { sqlEgressLeases } from '../../controller/store/egress-leases.ts';
import { migrate, releasedSchema, type Schema } from '../../controller/store/migrate.ts';
import { pgliteDatabase } from '../../controller/store/pglite.ts';
import { sqlPolicies } from '../../controller/store/policies.ts';
import { postgresDatabase } from '../../controller/store/postgres.ts';
import { sqlUserActions } from '../../controller/store/user-actions.ts';
import { emptyDatabaseUrl } from '../postgres.ts';
import { protocol } from './protocol.ts';

// The schema of commit 1547f51, the last whose migrations also held the functions, upgraded in place.

const OLD = new URL('schema-1547f51/', import.meta.url);
const oldFile = (name: string) => readFile(new URL(name, OLD), 'utf8');
const oldMigrations = async () => (await readdir(OLD)).filter(name => /^\d{4}_/.test(name)).sort();

const empty: Record<string, () => Promise<Database>> = {
  async Postgres() {
    const url = await emptyDatabaseUrl();
    const database = postgresDatabase({ url, connectionsMax: 4, log: pino({ level: 'silent' }) });
    onTestFinished(() => database.close());
    return database;
  },
  async PGlite() {
    lite ??= await pgliteDatabase(); // seconds to create, so one for all, emptied
    await lite.script('drop schema if exists omicron cascade; drop table if exists public.switch');
    return lite;
  },
};
let lite: Database | undefined;
afterAll(() => lite?.close());

/** Brings a database to the old schema as the code of that commit did. */
async function migrateAsBefore(database: Database, migrations: readonly string[]): Promise<void> {
  await database.script(`create schema omicron; create table omicron.migrations (
    name text primary key, digest text not null, applied_at timestamptz not null default clock_timestamp())`);
  for (const name of migrations) {
    const sql = await oldFile(name);
    await database.script(sql);
    const digest = createHash('sha256').update(sql).digest('hex');
    await database.query('insert into omicron.migrations (name, digest) values ($1, $2)', [name, digest]);
  }
  await database.script(await oldFile('vault.sql'));
}

const TABLES = ['browser_sessions', 'runners', 'permits', 'session_events', 'artifacts'];
const LATER = ['policies', 'user_actions', 'tallies'];

const rowsOf = async (database: Database) =>
  Object.fromEntries(
    await Promise.all(
      [...TABLES, ...LATER].map(async table => {
        const rows = await database.query<{ row: unknown }>(
          `select to_jsonb(t) as row from omicron.${table} t order by to_jsonb(t)::text`,
        );
        return [table, rows.map(({ row }) => row)] as const;
      }),
    ),
  );

/** Everything of the schema that a step can notice. */
async function shapeOf(database: Database) {
  const list = async (sql: string) => (await database.query<{ line: string }>(sql)).map(({ line }) => line);
  return {
    functions: await list(
      `select pg_get_functiondef(oid) as line from pg_proc where pronamespace = 'omicron'::regnamespace order by 1`,
    ),
    triggers: await list(
      `select pg_get_triggerdef(t.oid) as line from pg_trigger t join pg_class c on c.oid = t.tgrelid
        where c.relnamespace = 'omicron'::regnamespace and not t.tgisinternal order by 1`,
    ),
    columns: await list(
      `select table_name || '.' || column_name || ' ' || data_type || ' ' || is_nullable || ' ' || coalesce(column_default, '') as line
         from information_schema.columns where table_schema = 'omicron' order by table_name, ordinal_position`,
    ),
    indexes: await list(`select indexdef as line from pg_indexes where schemaname = 'omicron' order by 1`),
    constraints: await list(
      `select conrelid::regclass || ' ' || pg_get_constraintdef(oid) as line from pg_constraint
        where connamespace = 'omicron'::regnamespace and contype <> 'n' order by 1`,
    ),
    recorded: await list(`select name as line from omicron.migrations where name like 'functions/%' order by 1`),
  };
}

/** What applying anything would change. */
const traces = (database: Database) =>
  database.query(`
    select (select jsonb_object_agg(name, jsonb_build_array(digest, applied_at)) from omicron.migrations) as recorded,
           (select jsonb_object_agg(oid::regprocedure, xmin::text) from pg_proc where pronamespace = 'omicron'::regnamespace) as functions,
           (select jsonb_object_agg(tgname, xmin::text) from pg_trigger where not tgisinternal) as triggers`);

describe.each(Object.entries(empty))('a database of the schema before, on %s', { timeout: 180_000 }, (_name, open) => {
  it('keeps its rows and its leases', async () => {
    const database = await open();
    await migrateAsBefore(database, await oldMigrations());
    await database.script(await oldFile('rows.sql'));
    const before = await rowsOf(database);
    for (const [table, rows] of Object.entries(before)) expect(rows.length, table).toBeGreaterThan(0);

    await migrate(database);
    expect(await rowsOf(database)).toMatchObject(before); // and columns that came later

    const p = protocol(database);
    const { sessions } = await p.directory.list({ limit: 10, archived: false });
    const session = (conversation: string) => {
      const found = sessions.find(each => each.conversation_id === conversation);
      if (!found) throw new Error(`no session ${conversation}`);
      return found;
    };
    expect(sessions.map(each => [each.conversation_id, each.status])).toEqual([
      ['starting', 'starting'],
      ['ready', 'ready'],
      ['failed', 'error'],
      ['over', 'ended'],
    ]);

    // the ready lease: renewed by its caller, its runner, and the egress proxy
    const ready = session('ready');
    const runnerId = ready.runner_id ?? '';
    const lease = { session_id: ready.id, epoch: 1, runner_id: runnerId };
    expect(await p.acquire({ conversationId: 'ready' })).toMatchObject({ outcome: 'renewed', session: { epoch: 1 } });
    expect(await p.leases.heartbeat(ready.id, 'ada', 1)).toMatchObject({ outcome: 'renewed' });
    expect(await p.broker.reportActivity(lease, 1)).toMatchObject({ policyVersion: 'd1.s3.u2' });
    const egressLeases = sqlEgressLeases(database);
    expect(await egressLeases.live([runnerId])).toMatchObject([{ lease, policy: { version: 'd1.s3.u2' } }]);
    expect(await egressLeases.awaitedUploads([runnerId])).toMatchObject([{ lease }]);
    expect((await sqlPolicies(database).of(ready.id, 'ada')).layers).toHaveLength(3);
    const userActions = sqlUserActions(database);
    const [pending, answered] = await userActions.list(ready.id);
    expect([pending?.status, answered?.note]).toEqual(['pending', '42']);
    expect(await userActions.answer(ready.id, pending?.id ?? '', 'declined', null)).toMatchObject({
      status: 'declined',
    });
    const { events } = await p.directory.events(ready.id, { limit: 50 });
    expect(events.map(each => each.kind)).toEqual([
      ...['session.claimed', 'session.ready', 'user_action.requested', 'user_action.requested'],
      ...['user_action.answered', 'egress.denied', 'user_action.answered'],
    ]);

    // the starting one: goes on where it was
    const starting = session('starting');
    const claimed = {
      outcome: 'claimed' as const,
      session: starting,
      runner: await p.runner(starting.runner_id ?? ''),
    };
    expect(await p.acquire({ conversationId: 'starting' })).toMatchObject({ outcome: 'starting' });
    expect(await p.leases.beat(p.claimOf(claimed))).toBe(true);
    expect(await p.leases.beginAssignment(p.claimOf(claimed))).toMatchObject({ id: claimed.runner.id });
    expect(await p.redeem(claimed)).toMatchObject({ outcome: 'redeemed', userId: 'ada' });
    expect(await p.makeReady(claimed)).toMatchObject({ status: 'ready', epoch: 1 });

    // those that are over: a new epoch, an artifact that is kept, totals that go on
    expect(await p.directory.artifacts(session('over').id)).toMatchObject([{ state: 'stored', uri: 'file:///v.webm' }]);
    await p.leases.end(ready.id, null, 1, 'released');
    expect((await p.directory.stats()).ended).toEqual({ released: 2, runner_start_failed: 1 });
    expect((await p.claim({ conversationId: 'failed' })).session).toMatchObject({ epoch: 2, status: 'starting' });
    const set = (change: string) =>
      database.query(`update omicron.browser_sessions set ${change} where id = $1`, [ready.id]);
    await expect(set(`status = 'ready'`)).rejects.toThrow(/may not go from ended to ready/);
  });

  it('becomes what an empty one becomes, from each of its releases', async () => {
    const fresh = await open();
    await migrate(fresh);
    const shape = await shapeOf(fresh);
    expect(shape.functions.length).toBeGreaterThan(30);
    const names = await oldMigrations();
    for (let count = 1; count <= names.length; count++) {
      await fresh.script('drop schema omicron cascade');
      await migrateAsBefore(fresh, names.slice(0, count));
      await migrate(fresh);
      expect(await shapeOf(fresh), names[count - 1]).toEqual(shape);
    }
  });

  it('is left alone by the second start', async () => {
    const database = await open();
    await migrateAsBefore(database, await oldMigrations());
    await migrate(database);
    const applied = await traces(database);
    await migrate(database);
    expect(await traces(database)).toEqual(applied);
  });
});

describe.each(Object.entries(empty))('functions, on %s', (_name, open) => {
  const TABLE = { name: '0001.sql', sql: 'create table omicron.numbers (n integer)' };
  const schema = (functions: Record<string, string>): Schema => ({
    migrations: [TABLE],
    functions: Object.entries(functions).map(([name, sql]) => ({ name, sql })),
  });
  const declare = (signature: string, body: string) =>
    `create or replace function omicron.${signature} language sql as $$ ${body} $$;\n`;
  const signatures = async (database: Database) => {
    const rows = await database.query<{ signature: string }>(
      `select oid::regprocedure || ' ' || prorettype::regtype as signature
         from pg_proc where pronamespace = 'omicron'::regnamespace order by 1`,
    );
    return rows.map(row => row.signature);
  };
  const value = async (database: Database, expression: string) =>
    (await database.query<{ value: unknown }>(`select ${expression} as value`))[0]?.value;

  it('are applied again when their file has changed, and no other file is', async () => {
    const database = await open();
    const other = declare('two() returns integer', 'select 2');
    await migrate(database, schema({ 'a.sql': declare('one() returns integer', 'select 1'), 'b.sql': other }));
    const before = await database.query(`select xmin::text from pg_proc where proname = 'two'`);
    await migrate(database, schema({ 'a.sql': declare('one() returns integer', 'select 11'), 'b.sql': other }));
    expect(await value(database, 'omicron.one()')).toBe(11);
    expect(await database.query(`select xmin::text from pg_proc where proname = 'two'`)).toEqual(before);
  });

  it.each([
    ['another parameter', 'f(p_n integer, p_m integer) returns integer', 'select 2'],
    ['one parameter less', 'f() returns integer', 'select 2'],
    ['another type of a parameter', 'f(p_n text) returns integer', 'select 2'],
    ['another name of a parameter', 'f(p_m integer) returns integer', 'select 2'],
    ['another return type', 'f(p_n integer) returns text', `select 'two'`],
  ])('leave no overload behind after %s', async (_what, signature, body) => {
    const database = await open();
    const trigger = `create or replace function omicron.g() returns trigger language plpgsql as $$ begin return new; end $$;
      create or replace trigger g before insert on omicron.numbers for each row execute function omicron.g();`;
    await migrate(database, schema({ 'f.sql': declare('f(p_n integer) returns integer', 'select 1') + trigger }));
    const changed = schema({ 'f.sql': declare(signature, body) + trigger });
    await migrate(database, changed);
    const upgraded = [
      await signatures(database),
      await value(database, `(select count(*)::int from pg_trigger where tgname = 'g')`),
    ];
    await database.script('drop schema omicron cascade');
    await migrate(database, changed);
    expect(upgraded).toEqual([await signatures(database), 1]);
  });

  it('that no file declares any more are dropped', async () => {
    const database = await open();
    const one = declare('one() returns integer', 'select 1');
    await migrate(
      database,
      schema({
        'a.sql': one + declare('two() returns integer', 'select 2'),
        'b.sql': declare('three() returns integer', 'select 3'),
      }),
    );
    await migrate(database, schema({ 'a.sql': one }));
    expect(await signatures(database)).toEqual(['omicron.one() integer']);
    expect(await value(database, `(select count(*)::int from omicron.migrations)`)).toBe(2);
  });

  it('of others stay as they are: another name, another signature, and the one that is in the way', async () => {
    const database = await open();
    const theirs = [
      'omicron.theirs() returns integer',
      'omicron.one(p_text text) returns integer',
      'public.two(p_text text) returns integer',
    ];
    await database.script('create schema omicron');
    for (const signature of theirs) await database.script(`create function ${signature} language sql as 'select 7'`);
    onTestFinished(() =>
      database.script('drop function if exists public.two(text); drop function if exists public.two(integer)'),
    );
    const ours = declare('one() returns integer', 'select 1');
    const two = `create or replace function public.two(p_n integer) returns integer language sql as $$ select 2 $$;`;
    await migrate(database, schema({ 'a.sql': ours, 'b.sql': two }));
    await migrate(database, schema({ 'a.sql': declare('one(p_n integer) returns integer', 'select 1') }));
    const kept = ['omicron.theirs()', `omicron.one('x'::text)`, `public.two('x'::text)`];
    for (const call of kept) expect(await value(database, call)).toBe(7);
    expect(await value(database, `to_regprocedure('omicron.one()')`)).toBeNull();
    expect(await value(database, `to_regprocedure('public.two(integer)')`)).toBeNull();
    const inTheWay = schema({ 'a.sql': declare('one(p_words text) returns integer', 'select 1') });
    await expect(migrate(database, inTheWay)).rejects.toThrow(/input parameter|cannot change name/);
    for (const call of kept) expect(await value(database, call)).toBe(7);
  });

  it('may move to another file', async () => {
    const database = await open();
    const [one, two] = [declare('one() returns integer', 'select 1'), declare('two() returns integer', 'select 2')];
    await migrate(database, schema({ 'a.sql': one + two, 'b.sql': two.replaceAll('two', 'three') }));
    await migrate(database, schema({ 'a.sql': two, 'b.sql': one }));
    expect(await signatures(database)).toEqual(['omicron.one() integer', 'omicron.two() integer']);
    await migrate(database, schema({ 'a.sql': one, 'b.sql': two }));
    expect(await signatures(database)).toEqual(['omicron.one() integer', 'omicron.two() integer']);
  });

  it('are created after those that they call, whatever their files are called', async () => {
    const database = await open();
    await migrate(
      database,
      schema({
        'a.sql': declare('one() returns integer', 'select omicron.two() + omicron.three()'),
        'b.sql': declare('two() returns integer', 'select omicron.three()'),
        'c.sql': declare('three() returns integer', 'select 3'),
      }),
    );
    expect(await value(database, 'omicron.one()')).toBe(6);
  });

  it('are applied again when what their file depends on has changed', async () => {
    const database = await open();
    const sql = `-- depends on to_regclass('public.switch')::oid
      do $$ begin
        if to_regclass('public.switch') is not null then
          create or replace function omicron.on_switch() returns integer language sql as 'select 1';
        end if;
      end $$;`;
    await migrate(database, schema({ 'a.sql': sql }));
    expect(await signatures(database)).toEqual([]);
    await database.script('create table public.switch ()');
    await migrate(database, schema({ 'a.sql': sql }));
    expect(await signatures(database)).toEqual(['omicron.on_switch() integer']);
  });

  it('are all as before when one file has a fault', async () => {
    const database = await open();
    const good = declare('one() returns integer', 'select 1');
    await migrate(database, schema({ 'a.sql': good }));
    const before = await traces(database);
    const broken = schema({
      'a.sql': good.replace('1', '2'),
      'b.sql': declare('two() returns integer', 'select no_such'),
    });
    await expect(migrate(database, broken)).rejects.toThrow(/no_such/);
    expect(await traces(database)).toEqual(before);
  });
});

it.each(Object.entries(empty))('a file of tables may not change once it was applied, on %s', async (_name, open) => {
  const database = await open();
  await migrate(database, { migrations: [{ name: '0001.sql', sql: 'create table omicron.a ()' }], functions: [] });
  const changed = { migrations: [{ name: '0001.sql', sql: 'create table omicron.b ()' }], functions: [] };
  await expect(migrate(database, changed)).rejects.toThrow(/0001.sql was changed/);
});

it('every function is created by `create or replace`, in the schema of this project or for PostgREST, and once', async () => {
  const { functions } = await releasedSchema();
  const declared = functions.flatMap(({ sql }) => [...sql.matchAll(/create (or replace )?function (\S+)\(/g)]);
  expect(declared.filter(([, replace]) => replace === undefined)).toEqual([]);
  const names = declared.map(([, , name]) => name);
  expect(new Set(names).size).toBe(names.length);
  expect(names.filter(name => !/^(omicron|public)\./.test(name ?? ''))).toEqual([]);
});
