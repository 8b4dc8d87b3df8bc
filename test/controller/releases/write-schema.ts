import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { inDependencyOrder, MIGRATIONS_TABLE, migrate, releasedSchema } from '../../../controller/store/migrate.ts';
import { pgliteDatabase } from '../../../controller/store/pglite.ts';

// `npm run schema`: writes the database schema of the version in package.json, as this release leaves an empty database.
// upgrade.test.ts upgrades from each of these files, so that of a published version is never written again.

const { version } = JSON.parse(await readFile(new URL('../../../package.json', import.meta.url), 'utf8'));
const folder = new URL(`${version}/`, import.meta.url);

const { migrations, functions } = await releasedSchema();
const database = await pgliteDatabase();
await migrate(database, { migrations, functions });
const [row] = await database.query<{ inserts: string }>(
  `select string_agg(format('insert into omicron.migrations (name, digest, declares) values (%L, %L, %L);', name, digest, declares),
            E'\\n' order by name) as inserts from omicron.migrations`,
);
await database.close();

const parts = [
  `-- The schema of ${version}, written by \`npm run schema\`.`,
  `create schema omicron;\n${MIGRATIONS_TABLE}`,
  ...[...migrations, ...inDependencyOrder(functions)].map(({ name, sql }) => `-- ${name}\n${sql.trim()}`),
  `-- Files that a release has applied, and the functions that it created.\n${row?.inserts}`,
];
await mkdir(folder, { recursive: true });
await writeFile(new URL('schema.sql', folder), `${parts.join('\n\n')}\n`);
