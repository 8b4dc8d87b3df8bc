import type { IncomingMessage } from 'node:http';

/** Methods that change nothing, so that a request may be sent twice: <https://www.rfc-editor.org/rfc/rfc9110#section-9.2.1>. */
const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Whether a proxy may send a request over a kept connection. The other side may be closing it just then, so only a request that
 * can be sent again, which has no body either, may go that way.
 */
export const mayReuse = ({ method, headers }: Pick<IncomingMessage, 'method' | 'headers'>): boolean =>
  SAFE_METHODS.has(method ?? '') &&
  headers['content-length'] === undefined &&
  headers['transfer-encoding'] === undefined;
