import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import type { Database } from '../ports/database.ts';

export interface SqlFile {
  name: string;
  sql: string;
}

export interface DatabaseSchema {
  /** Tables, sequences, indexes: each file is applied once and may not be changed afterwards. */
  migrations: readonly SqlFile[];
  /** Functions and their triggers: each file is applied again when it has changed. */
  functions: readonly SqlFile[];
}

/** Records each file that was applied, and the functions that it created. */
export const MIGRATIONS_TABLE = `create table if not exists omicron.migrations (
  name text primary key, digest text not null, applied_at timestamptz not null default clock_timestamp(), declares text[]
);`;

const DECLARATION = /^\s*create or replace function (\w+\.\w+)\(/gim;

/** Functions that a file declares, by qualified name. A name has one signature. */
export const declaredIn = (file: SqlFile): string[] => [...file.sql.matchAll(DECLARATION)].map(found => found[1] ?? '');

/** Each file after those whose functions it names: SQL checks the body of a function when it is created. */
export function inDependencyOrder(files: readonly SqlFile[]): SqlFile[] {
  const owners = new Map(files.flatMap(file => declaredIn(file).map(name => [name, file] as const)));
  const ordered = new Set<SqlFile>();
  const visiting = new Set<SqlFile>();
  const visit = (file: SqlFile): void => {
    if (ordered.has(file)) return;
    if (visiting.has(file)) throw new Error(`${[...visiting, file].map(each => each.name).join(' -> ')} form a circle`);
    visiting.add(file);
    for (const [name] of file.sql.matchAll(/\w+\.\w+(?=\()/g)) {
      const needed = owners.get(name);
      if (needed !== undefined && needed !== file) visit(needed);
    }
    visiting.delete(file);
    ordered.add(file);
  };
  files.forEach(visit);
  return [...ordered];
}

/** The schema of this release. */
export async function releasedSchema(): Promise<DatabaseSchema> {
  const read = async (folder: string): Promise<SqlFile[]> => {
    const url = new URL(`${folder}/`, import.meta.url);
    const names = (await readdir(url)).filter(name => name.endsWith('.sql')).sort();
    return Promise.all(names.map(async name => ({ name, sql: await readFile(new URL(name, url), 'utf8') })));
  };
  const [migrations, functions] = await Promise.all([read('migrations'), read('functions')]);
  return { migrations, functions };
}

/**
 * Brings a database to this schema: one transaction, under a lock, so that replicas may start at once. A file of
 * functions is applied again when its text changed, or the value of what its line `-- depends on <SQL>` names. A
 * function whose signature changed leaves no overload behind, and one that no file declares any more is dropped;
 * functions of others, in whichever schema and under whichever name, are never dropped.
 */
export async function migrate(database: Database, schema?: DatabaseSchema): Promise<void> {
  const { migrations, functions } = schema ?? (await releasedSchema());
  const digestOf = ({ sql }: SqlFile) => createHash('sha256').update(sql).digest('hex');
  const once = migrations.map(file => ({ ...file, digest: digestOf(file) }));
  const repeatable = inDependencyOrder(functions).map(file => ({
    sql: file.sql,
    name: `functions/${file.name}`,
    digest: digestOf(file),
    depends: /^-- depends on (.+)$/m.exec(file.sql)?.[1] ?? 'null',
    declares: declaredIn(file),
  }));
  await database.script(`
select pg_advisory_xact_lock(hashtextextended('omicron.migrations', 0));
create schema if not exists omicron;
${MIGRATIONS_TABLE}
-- \`version\` differs once a function was created or replaced.
create view omicron.functions as
  select p.oid as id, format('%s.%s', n.nspname, p.proname) as name, format('%s %s', p.oid, p.xmin) as version,
         format('%s.%s(%s)', n.nspname, p.proname, oidvectortypes(p.proargtypes)) as signature
    from pg_proc p join pg_namespace n on n.oid = p.pronamespace;
do $omicron$
declare
  v_once constant jsonb := $omicron_files$${JSON.stringify(once)}$omicron_files$;
  v_repeatable constant jsonb := $omicron_files$${JSON.stringify(repeatable)}$omicron_files$;
${APPLY}
end $omicron$;
drop view omicron.functions;`);
}

const APPLY = `
  f record;
  v_applied text;
  v_digest text;
  v_declared constant text[] := array(
    select unnest(x.declares) from jsonb_to_recordset(v_repeatable) as x(declares text[]));
  -- signatures that this project created before: no other function is ever dropped
  v_ours constant text[] := array(select unnest(m.declares) from omicron.migrations m);
  v_before oid[];
  v_versions text[];
  v_touched oid[];
  v_stale regprocedure;
begin
  for f in select * from jsonb_to_recordset(v_once) as x(name text, sql text, digest text) loop
    select m.digest into v_applied from omicron.migrations m where m.name = f.name;
    if v_applied is null then
      execute f.sql;
      insert into omicron.migrations (name, digest) values (f.name, f.digest);
    elsif v_applied <> f.digest then
      raise exception 'migration % was changed after it was applied; add a new one instead', f.name;
    end if;
  end loop;

  for f in select * from jsonb_to_recordset(v_repeatable) as x(name text, sql text, digest text, depends text, declares text[]) loop
    execute format('select concat_ws('' '', %L, %s)', f.digest, f.depends) into v_digest;
    select m.digest into v_applied from omicron.migrations m where m.name = f.name;
    continue when v_applied = v_digest;
    v_before := array(select p.id from omicron.functions p where p.name = any (f.declares) and p.signature = any (v_ours));
    v_versions := array(select p.version from omicron.functions p where p.name = any (f.declares));
    begin
      execute f.sql;
    exception when invalid_function_definition then -- another return type, or another name of a parameter
      if v_before = '{}' then
        raise; -- the function that is in the way is not ours
      end if;
      foreach v_stale in array v_before loop
        execute format('drop function %s cascade', v_stale);
      end loop;
      execute f.sql;
    end;
    v_touched := array(select p.id from omicron.functions p where p.name = any (f.declares) and p.version <> all (v_versions));
    for v_stale in -- the signature before
      select p.oid from pg_proc p where p.oid = any (v_before) and p.oid <> all (v_touched)
    loop
      execute format('drop function %s cascade', v_stale);
    end loop;
    insert into omicron.migrations as m (name, digest, declares)
      values (f.name, v_digest, array(select p.signature from omicron.functions p where p.id = any (v_touched)))
      on conflict (name) do update
        set digest = excluded.digest, declares = excluded.declares, applied_at = excluded.applied_at;
  end loop;

  for v_stale in
    select p.id from omicron.functions p where p.signature = any (v_ours) and p.name <> all (v_declared)
  loop
    execute format('drop function %s cascade', v_stale);
  end loop;
  delete from omicron.migrations m
   where m.name like 'functions/%' and m.name not in (select x.name from jsonb_to_recordset(v_repeatable) as x(name text));`;
