import { readFileSync } from 'node:fs';
import type { ConnectionOptions } from 'node:tls';
import type pg from 'pg';
import { ENV } from '../../contract/names.ts';
import { isLoopback } from '../loopback.ts';

export interface PostgresAddress {
  /** `postgres://user:password@host:port/database`. */
  readonly url: string;
  /** `off`: another host may be reached without TLS. By default its certificate and its name are verified. */
  readonly tls?: 'verify' | 'off';
  /** PEM of the authorities that sign the server's certificate; `sslrootcert` in the URL wins. */
  readonly ca?: string | undefined;
}

/**
 * `sslmode` as libpq spells it, <https://www.postgresql.org/docs/18/libpq-ssl.html>. Nothing is between no TLS and a verified
 * host: `require` and `verify-ca` mean `verify-full`, and the driver cannot fall back, as `allow` and `prefer` do.
 */
const MODES = {
  disable: 'off',
  allow: 'off',
  prefer: 'off',
  require: 'verify',
  'verify-ca': 'verify',
  'verify-full': 'verify',
} as const;

const isMode = (text: string): text is keyof typeof MODES => Object.hasOwn(MODES, text);

/** Other parameters that a URL may set on a connection. */
const PASSED = [
  'application_name',
  'options',
  'statement_timeout',
  'lock_timeout',
  'idle_in_transaction_session_timeout',
] as const;

/**
 * How to connect. The driver is given the parts and not the URL: it would let the URL, or `PGSSLMODE`, switch verification off.
 * Throws an Error, without host, user and password, for a URL that is malformed or would send its password in clear to another
 * host, or whose files cannot be read.
 */
export function postgresConnection({ url: text, tls = 'verify', ca }: PostgresAddress): pg.ClientConfig {
  const url = parseUrl(text);
  const query = url.searchParams;
  const host = query.get('host') || decodePart(url.hostname).replace(/^\[(.*)\]$/, '$1') || 'localhost';
  const socket = host.startsWith('/');
  const here = socket || isLoopback(host);
  const mode = sslMode(query);
  if (mode === 'off' && !here && tls === 'verify')
    throw new Error(
      'must not ask for a connection without TLS (sslmode disable, allow or prefer) to another host: it sends the password in clear. ' +
        `Remove sslmode, or set ${ENV.databaseTls}=off where the network itself is trusted`,
    );
  const verifies = mode === undefined ? !here && tls === 'verify' : mode === 'verify';
  const port = query.get('port') || url.port;
  const user = query.get('user') || decodePart(url.username);
  const password = query.get('password') || decodePart(url.password);
  const database = decodePart(url.pathname.slice(1));
  return {
    host,
    ssl: verifies && !socket && tlsOptions(query, ca),
    ...(port ? { port: Number(port) } : {}),
    ...(user ? { user } : {}),
    ...(password ? { password } : {}),
    ...(database ? { database } : {}),
    ...Object.fromEntries(PASSED.flatMap(name => (query.has(name) ? [[name, query.get(name)]] : []))),
  };
}

/** A URL without a host, whose server is a Unix socket, may still have a user. */
function parseUrl(text: string): URL {
  const url = URL.parse(text) ?? URL.parse(text.replace('@/', '@localhost/'));
  // an @ after the host: the password has a character that ends the host, and a part of it would be looked up as a name
  if (url === null || /@/.test(url.pathname + url.search) || url.hash !== '')
    throw new Error(
      'must be postgres://user:password@host:port/database, with special characters of user and password percent-encoded (@ as %40, / as %2F, # as %23)',
    );
  return url;
}

function decodePart(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new Error('must be a URL with special characters of user and password percent-encoded (% as %25)');
  }
}

function sslMode(query: URLSearchParams): 'verify' | 'off' | undefined {
  const mode = query.get('sslmode') ?? '';
  if (query.getAll('sslmode').length > 1 || query.has('ssl'))
    throw new Error('must say once whether TLS is used, by sslmode and not by ssl');
  if (mode !== '' && !isMode(mode))
    throw new Error(`must have one of these as sslmode: ${Object.keys(MODES).join(', ')}`);
  if (mode !== '') return MODES[mode];
  return query.has('sslrootcert') || query.has('sslcert') ? 'verify' : undefined;
}

function tlsOptions(query: URLSearchParams, ca: string | undefined): ConnectionOptions {
  const file = (name: string): string | undefined => {
    const path = query.get(name);
    return path ? readFileSync(path, 'utf8') : undefined;
  };
  // `system` is libpq's word for the public authorities
  const root = query.get('sslrootcert') === 'system' ? undefined : (file('sslrootcert') ?? ca);
  const [cert, key] = [file('sslcert'), file('sslkey')];
  return {
    rejectUnauthorized: true, // whatever NODE_TLS_REJECT_UNAUTHORIZED says
    ...(root ? { ca: root } : {}),
    ...(cert ? { cert } : {}),
    ...(key ? { key } : {}),
  };
}
