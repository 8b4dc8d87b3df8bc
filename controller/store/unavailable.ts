import { OmicronError } from '../../contract/problem.ts';

/** Seconds after which a caller should try a database again that could not be reached. */
const RETRY_SECONDS = 2;

// 08 connection, 53 resources, 57 operator intervention, 40 rollback:
// https://www.postgresql.org/docs/18/errcodes-appendix.html
const PASSING = /^(08|53|57|40)/;

/**
 * The error as the rest of the controller sees it: a database that is away is `store_unavailable`; a fault of our own
 * SQL stays what it is.
 */
export function storeError(cause: unknown): unknown {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  const sqlState = /^[0-9A-Z]{5}$/.test(code);
  if (sqlState && !PASSING.test(code)) return cause;
  return new OmicronError('store_unavailable', 'The database cannot be reached; nothing was granted. Try again.', {
    retryAfterSeconds: RETRY_SECONDS,
    cause,
  });
}
