import type { IncomingMessage } from 'node:http';

/** Tokens are base64url or JWTs. */
const URL_TOKEN = /^(\/(?:[^?/]+\/)*mcp)\/([\w.~-]{16,})$/;

/**
 * Answers the path of a request. For `/mcp/<token>`, an address for clients that can send no header, that is `/mcp`: the token becomes
 * the bearer token of the request, also where it is passed on, so that no log of an address has the secret.
 */
export function takeUrlToken(request: Pick<IncomingMessage, 'url' | 'headers' | 'rawHeaders'>): string {
  const { url = '/', headers, rawHeaders } = request;
  const [, path, token] = URL_TOKEN.exec(url) ?? [];
  if (path === undefined || token === undefined) return url;
  const own = rawHeaders.findIndex((name, place) => place % 2 === 0 && name.toLowerCase() === 'authorization');
  if (own !== -1) rawHeaders.splice(own, 2);
  headers.authorization = `Bearer ${token}`;
  rawHeaders.push('authorization', headers.authorization);
  return path;
}
