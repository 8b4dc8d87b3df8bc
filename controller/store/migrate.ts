import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import type { Database } from '../ports/database.ts';

const FOLDER = new URL('migrations/', import.meta.url);

/** Runs a file once; a file that was changed after it ran is refused. */
const step = (name: string, sql: string): string => {
  const digest = createHash('sha256').update(sql).digest('hex');
  return `
do $omicron_step$ declare applied text := (select digest from omicron.migrations where name = '${name}');
begin
  if applied is null then
    execute $omicron_file$${sql}$omicron_file$;
    insert into omicron.migrations (name, digest) values ('${name}', '${digest}');
  elsif applied <> '${digest}' then
    raise exception 'migration ${name} was changed after it was applied; add a new one instead';
  end if;
end $omicron_step$;`;
};

/**
 * Brings the schema up to date, and the vault's functions where Supabase Vault is (it may be switched on later): one transaction, under a lock, so that
 * replicas may start at once.
 */
export async function migrate(database: Database): Promise<void> {
  const names = (await readdir(FOLDER)).filter(name => name.endsWith('.sql')).sort();
  const steps = await Promise.all(names.map(async name => step(name, await readFile(new URL(name, FOLDER), 'utf8'))));
  await database.script(`
select pg_advisory_xact_lock(hashtextextended('omicron.migrations', 0));
create schema if not exists omicron;
create table if not exists omicron.migrations (
  name text primary key, digest text not null, applied_at timestamptz not null default clock_timestamp()
);
${steps.join('\n')}
${await readFile(new URL('always/vault.sql', FOLDER), 'utf8')}`);
}
