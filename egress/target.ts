import { isIP } from 'node:net';
import { canonicalHost } from '../contract/policy/hosts.ts';

/** The destination of a client; `host` is canonical: a name without trailing dot, or an address without brackets. */
export interface Destination {
  readonly host: string;
  readonly port: number;
  readonly isAddress: boolean;
}

const AUTHORITY = /^(\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9._-]{1,254})(?::([0-9]{1,5}))?$/;

/**
 * Parses `host:port`. Addresses in any spelling that a URL parser accepts (decimal, octal, hex, short) are
 * normalised. Null for everything that a browser would not send: userinfo, backslashes, percent signs, zones,
 * non-ASCII.
 */
export function parseAuthority(text: string, defaultPort: number | null): Destination | null {
  const match = AUTHORITY.exec(text);
  const spelt = match?.[1];
  if (spelt === undefined) return null;
  const port = match?.[2] === undefined ? defaultPort : Number(match[2]);
  if (port === null || port < 1 || port > 65_535) return null;
  const hostname = URL.parse(`http://${spelt}/`)?.hostname;
  if (hostname === undefined) return null;
  const bare = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
  if (isIP(bare) !== 0) return { host: bare, port, isAddress: true };
  const host = canonicalHost(bare);
  return host === null ? null : { host, port, isAddress: false };
}

/**
 * Parses an absolute-form request target (`http://host[:port]/path`) and gives the origin-form that the site is sent.
 */
export function parseAbsolute(text: string): { target: Destination; path: string } | null {
  const match = /^http:\/\/([^/?#]*)([^#]*)$/i.exec(text);
  if (!match || !/^[\x21-\x7e]*$/.test(text)) return null;
  const target = parseAuthority(match[1] ?? '', 80);
  const path = match[2] ?? '';
  return target && { target, path: path.startsWith('/') ? path : `/${path}` };
}

/** The target as a Host header. */
export const hostHeader = ({ host, port }: Destination): string => {
  const spelt = isIP(host) === 6 ? `[${host}]` : host;
  return port === 80 ? spelt : `${spelt}:${port}`;
};

/** Addresses of `localhost`, without a lookup: <https://www.rfc-editor.org/rfc/rfc6761#section-6.3>. */
export const LOOPBACK = ['127.0.0.1', '::1'] as const;

/** Names that exist only inside a network, whatever they resolve to. */
const INTERNAL = ['localhost', 'local', 'internal', 'svc', 'cluster.local', 'localdomain', 'lan', 'home.arpa', 'onion'];

/** Single labels too, since a search domain would complete them. */
export const isInternalName = (host: string): boolean =>
  !host.includes('.') || INTERNAL.some(suffix => host === suffix || host.endsWith(`.${suffix}`));
