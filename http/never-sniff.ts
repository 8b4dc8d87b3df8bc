import type { Server } from 'node:http';

/** Keeps browsers from reading an answer as another type than it says: it may hold what a stranger wrote. */
export const NOSNIFF = { 'x-content-type-options': 'nosniff' } as const;

/** Sets the header on every answer of a server, before anything else hears of the request. */
export function neverSniff(server: Server): void {
  server.prependListener('request', (_request, response) => {
    for (const [name, value] of Object.entries(NOSNIFF)) response.setHeader(name, value);
  });
}
