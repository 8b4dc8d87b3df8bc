import { pino } from 'pino';
import manifest from '../package.json' with { type: 'json' };
import { buildServer, type ServerParts } from './http/server.ts';

/** The OpenAPI document of the controller, read from the routes of a server that never listens. */
export async function openApiDocument(): Promise<object> {
  const parts = {
    log: pino({ level: 'silent' }),
    version: manifest.version,
    serviceKey: new Uint8Array(32),
    egressKey: new Uint8Array(32),
    gateway: undefined,
  };
  // Registering routes touches no other part, so the document needs neither a database nor a provider.
  const app = await buildServer(parts as unknown as ServerParts);
  return app.swagger();
}

if (import.meta.main) process.stdout.write(`${JSON.stringify(await openApiDocument(), null, 2)}\n`);
