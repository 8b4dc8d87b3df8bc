/** A Postgres that speaks our SQL: a server, or PGlite in process. No session-level state, so a transaction pooler may stand between. */
export interface Database {
  /** One statement with `$1` parameters. Throws `store_unavailable` when the database cannot be reached. */
  query<Row extends object>(sql: string, parameters?: readonly unknown[]): Promise<Row[]>;
  /** A script of several statements in one transaction. */
  script(sql: string): Promise<void>;
  close(): Promise<void>;
}
