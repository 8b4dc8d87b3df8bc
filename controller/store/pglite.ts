import { PGlite } from '@electric-sql/pglite';
import type { Database } from '../ports/database.ts';

/** Postgres in this process, in a folder (or in memory without one): the embedded default, one controller only. */
export async function pgliteDatabase(folder?: string): Promise<Database> {
  const lite = await PGlite.create(folder === undefined ? {} : { dataDir: folder });
  return {
    query: async <Row extends object>(sql: string, parameters: readonly unknown[] = []) =>
      (await lite.query<Row>(sql, [...parameters])).rows,
    async script(sql) {
      await lite.exec(sql);
    },
    close: () => lite.close(),
  };
}
