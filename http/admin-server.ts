import { createServer, type Server } from 'node:http';
import { neverSniff } from './never-sniff.ts';

/** A registry of @prometheus-io/client. */
interface ScrapedRegistry {
  readonly contentType: string;
  metrics(): Promise<string>;
}

/**
 * `/healthz` and `/metrics`, on a port of its own that neither runners nor people can reach. `live` is false while the program stops.
 */
export function adminServer(registry: ScrapedRegistry, live: () => boolean): Server {
  const server = createServer((request, response) => {
    if (request.url === '/healthz')
      return void response
        .writeHead(live() ? 200 : 503, { 'content-type': 'application/json' })
        .end(JSON.stringify({ ok: live() }));
    if (request.url !== '/metrics') return void response.writeHead(404).end();
    registry.metrics().then(
      text => response.writeHead(200, { 'content-type': registry.contentType }).end(text),
      () => response.writeHead(500).end(),
    );
  });
  neverSniff(server);
  return server;
}
