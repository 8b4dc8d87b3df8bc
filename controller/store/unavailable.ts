import { ENV } from '../../contract/names.ts';
import { OmicronError } from '../../contract/problem.ts';

/** Seconds after which a caller should try a database again that could not be reached. */
const RETRY_SECONDS = 2;

// 08 connection, 53 resources, 57 operator intervention, 40 rollback:
// https://www.postgresql.org/docs/18/errcodes-appendix.html
const PASSING = /^(08|53|57|40)/;

/** OpenSSL's and Node's codes for a certificate that is not accepted: https://nodejs.org/api/tls.html#x509-certificate-error-codes */
const UNTRUSTED = /CERT|SELF_SIGNED|UNABLE_TO_(GET|VERIFY)/;

/** The remedy for a connection without a trusted peer; undefined for other failures. */
function tlsAdvice(cause: unknown, code: string): string | undefined {
  if (UNTRUSTED.test(code))
    return `The database's certificate was not accepted (${code}), and no password was sent. Put the PEM of its authority into ${ENV.databaseCa} or name the file as sslrootcert in ${ENV.databaseUrl}; the certificate must be valid for the host in the URL.`;
  if (cause instanceof Error && cause.message === 'The server does not support SSL connections')
    // the driver's; it has no code
    return `The database does not speak TLS, and no password was sent. Switch TLS on in the server, or set ${ENV.databaseTls}=off where the network itself is trusted.`;
  return undefined;
}

/**
 * The error as the rest of the controller sees it: a database that is away is `store_unavailable`; a fault of our own
 * SQL stays what it is.
 */
export function storeError(cause: unknown): unknown {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  const sqlState = /^[0-9A-Z]{5}$/.test(code);
  if (sqlState && !PASSING.test(code)) return cause;
  const message = tlsAdvice(cause, code) ?? 'The database cannot be reached; nothing was granted. Try again.';
  return new OmicronError('store_unavailable', message, { retryAfterSeconds: RETRY_SECONDS, cause });
}
