import pg from 'pg';
import type { Logger } from 'pino';
import type { Database } from '../ports/database.ts';
import { type PostgresAddress, postgresConnection } from './postgres-connection.ts';
import { storeError } from './unavailable.ts';

/** Beside the callers' connections: a heartbeat or report takes one for less than a millisecond, unless its row is locked. */
const RENEWAL_CONNECTIONS = 4;

/** A controller's pools on one server. Closing `database` closes both. */
export function postgresPools(options: Parameters<typeof postgresDatabase>[0]): {
  database: Database;
  /** For heartbeats and reports: a lease lives however many callers wait for a connection. */
  renewals: Database;
} {
  const database = postgresDatabase(options);
  const renewals = postgresDatabase({ ...options, connectionsMax: RENEWAL_CONNECTIONS });
  const close = async () => {
    await Promise.all([database.close(), renewals.close()]);
  };
  return { database: { ...database, close }, renewals };
}

/**
 * A Postgres server, direct or behind a pooler in transaction mode: statements are unnamed and nothing is set on a
 * connection. Throws what `postgresConnection` throws.
 */
export function postgresDatabase(options: PostgresAddress & { connectionsMax: number; log: Logger }): Database {
  const pool = new pg.Pool({
    ...postgresConnection(options),
    max: options.connectionsMax,
    connectionTimeoutMillis: 5_000,
    query_timeout: 10_000,
    idleTimeoutMillis: 30_000,
  });
  // An idle connection that the server ends (restart, failover) is replaced at its next use.
  pool.on('error', error =>
    options.log.warn({ code: (error as { code?: string }).code }, 'a database connection was lost'),
  );
  return {
    async query<Row extends object>(sql: string, parameters: readonly unknown[] = []) {
      try {
        return (await pool.query<Row>(sql, [...parameters])).rows;
      } catch (cause) {
        throw storeError(cause);
      }
    },
    async script(sql) {
      try {
        await pool.query(sql); // without parameters: the simple protocol, one transaction
      } catch (cause) {
        throw storeError(cause);
      }
    },
    close: () => pool.end(),
  };
}
