import type { FastifyRequest } from 'fastify';
import { CONSOLE_ROUTES } from '../../contract/console.ts';
import { OmicronError } from '../../contract/problem.ts';

/** The host must be the console's own: a site whose name is pointed at this address is another origin for the browser only (DNS rebinding). */
export function checkHost(url: URL, host: string | undefined): void {
  if (host !== url.host)
    throw new OmicronError('origin_refused', `The console is served as ${url.origin}; open it under this address.`);
}

/** What changes something, or opens a WebSocket, must come from a page of the console (CSRF). */
export function checkOrigin(url: URL, origin: string | undefined): void {
  if (origin !== url.origin)
    throw new OmicronError('origin_refused', 'Only pages of the console may send this request.');
}

/**
 * A hook that refuses what another site makes a browser send. The command, which has a token and no cookie, may ask for a link
 * without being a page.
 */
export const sameOriginOnly = (url: URL) => async (request: FastifyRequest) => {
  checkHost(url, request.headers.host);
  if (request.method === 'GET' || request.method === 'HEAD' || request.routeOptions.url === CONSOLE_ROUTES.links)
    return;
  checkOrigin(url, request.headers.origin);
};
