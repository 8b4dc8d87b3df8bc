import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import type { Database } from '../../controller/ports/database.ts';
import { type DatabaseSchema, migrate, releasedSchema } from '../../controller/store/migrate.ts';
import { closeEmptyDatabases, EMPTY_DATABASES, readTraces } from './empty-databases.ts';

afterAll(closeEmptyDatabases);

describe.each(Object.entries(EMPTY_DATABASES))('functions, on %s', { timeout: 180_000 }, (_name, open) => {
  const TABLE = { name: '0001.sql', sql: 'create table omicron.numbers (n integer)' };
  const schema = (functions: Record<string, string>): DatabaseSchema => ({
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

  it('owned by others stay unchanged: another name, another signature, and the one that is in the way', async () => {
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
    const before = await readTraces(database);
    const broken = schema({
      'a.sql': good.replace('1', '2'),
      'b.sql': declare('two() returns integer', 'select no_such'),
    });
    await expect(migrate(database, broken)).rejects.toThrow(/no_such/);
    expect(await readTraces(database)).toEqual(before);
  });
});

it.each(Object.entries(EMPTY_DATABASES))(
  'a file of tables may not change once it was applied, on %s',
  async (_name, open) => {
    const database = await open();
    await migrate(database, { migrations: [{ name: '0001.sql', sql: 'create table omicron.a ()' }], functions: [] });
    const changed = { migrations: [{ name: '0001.sql', sql: 'create table omicron.b ()' }], functions: [] };
    await expect(migrate(database, changed)).rejects.toThrow(/0001.sql was changed/);
  },
);

it('every function is created by `create or replace`, in the schema of this project or for PostgREST, and once', async () => {
  const { functions } = await releasedSchema();
  const declared = functions.flatMap(({ sql }) => [...sql.matchAll(/create (or replace )?function (\S+)\(/g)]);
  expect(declared.filter(([, replace]) => replace === undefined)).toEqual([]);
  const names = declared.map(([, , name]) => name);
  expect(new Set(names).size).toBe(names.length);
  expect(names.filter(name => !/^(omicron|public)\./.test(name ?? ''))).toEqual([]);
});
