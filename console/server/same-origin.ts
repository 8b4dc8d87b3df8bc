import type { FastifyRequest } from 'fastify';
import { CONSOLE_ROUTES } from '../../contract/console.ts';
import { OmicronError } from '../../contract/problem.ts';

/**
 * A hook that refuses what another site makes a browser send. The host must be the console's own: a site whose name is
 * pointed at this address is another origin for the browser only (DNS rebinding). What changes something must come from
 * a page of the console (CSRF); the command, which has a token and no cookie, may ask for a link.
 */
export const sameOriginOnly = (url: URL) => async (request: FastifyRequest) => {
  const { host, origin } = request.headers;
  if (host !== url.host)
    throw new OmicronError('origin_refused', `The console is served as ${url.origin}; open it under this address.`);
  if (request.method === 'GET' || request.method === 'HEAD' || request.routeOptions.url === CONSOLE_ROUTES.links)
    return;
  if (origin !== url.origin)
    throw new OmicronError('origin_refused', 'Only pages of the console may send this request.');
};
