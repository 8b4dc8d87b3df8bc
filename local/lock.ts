import { DatabaseSync } from 'node:sqlite';

/**
 * Locks a file for this process until `release` or until the process exits: SQLite's exclusive lock is the operating
 * system's, so no stale lock can remain. Null: another process holds it.
 */
export function lockFile(path: string): { release(): void } | null {
  const database = new DatabaseSync(path, { timeout: 0 });
  try {
    database.exec('begin exclusive');
  } catch (error) {
    database.close();
    if (error instanceof Error && 'errcode' in error && error.errcode === SQLITE_BUSY) return null;
    throw error;
  }
  return { release: () => database.close() };
}

/** <https://www.sqlite.org/rescode.html#busy> */
const SQLITE_BUSY = 5;
