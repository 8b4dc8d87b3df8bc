import { createHash } from 'node:crypto';
import * as z from 'zod';

/** The credential of a client of the proxy. */
export interface ProxyCredential {
  readonly runnerId: string;
  readonly password: string;
  /** Stands for both in tables, so that no password is kept. */
  readonly digest: string;
}

const runnerIdSchema = z.uuid();

/** Parses a `Proxy-Authorization: Basic` header; null when it holds no runner id and password. */
export function parseProxyAuthorization(header: string | undefined): ProxyCredential | null {
  const match = /^Basic ([A-Za-z0-9+/]{1,1024}={0,2})$/i.exec(header ?? '');
  if (!match?.[1]) return null;
  const text = Buffer.from(match[1], 'base64').toString('utf8');
  const colon = text.indexOf(':');
  const runnerId = text.slice(0, colon).toLowerCase();
  const password = text.slice(colon + 1);
  if (colon === -1 || password === '' || password.length > 512 || !runnerIdSchema.safeParse(runnerId).success)
    return null;
  const digest = createHash('sha256').update(`${runnerId}:${password}`).digest('base64');
  return { runnerId, password, digest };
}
