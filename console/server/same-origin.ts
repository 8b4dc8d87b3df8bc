import type { FastifyRequest } from 'fastify';
import { CONSOLE_ROUTES } from '../../contract/console.ts';
import { OmicronError } from '../../contract/problem.ts';

/** The host must be the console's own: a site whose name is pointed at this address is another origin for the browser only (DNS rebinding). */
export function checkHost(url: URL, host: string | undefined): void {
  if (host !== url.host)
    throw new OmicronError('origin_refused', `The console is served as ${url.origin}; open it under this address.`);
}

/** A request that changes something, or opens a WebSocket, must come from a page of the console (CSRF). */
export function requireSameOrigin(url: URL, origin: string | undefined): void {
  if (origin !== url.origin)
    throw new OmicronError('origin_refused', 'Only pages of the console may send this request.');
}

/** Asked by programs, which have a token of their own and no cookie: the command, and the identity provider. */
const PROGRAM_ROUTES: readonly string[] = [CONSOLE_ROUTES.links, CONSOLE_ROUTES.oidcLogout];

/** Refuses what another site makes a browser send. */
export function checkSameOrigin(url: URL, request: FastifyRequest): void {
  checkHost(url, request.headers.host);
  if (request.method === 'GET' || request.method === 'HEAD') return;
  if (PROGRAM_ROUTES.includes(request.routeOptions.url ?? '')) return;
  requireSameOrigin(url, request.headers.origin);
}
