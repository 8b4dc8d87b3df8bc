import swagger from '@fastify/swagger';
import Fastify, { type RouteOptions } from 'fastify';
import { serializerCompiler, validatorCompiler } from 'fastify-type-provider-zod';
import { pino } from 'pino';
import manifest from '../package.json' with { type: 'json' };
import { problemAnswer } from './http/describe.ts';
import { type OpenApiHead, openApi } from './http/openapi.ts';
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

/** A route that another program serves. */
export interface DescribedRoute {
  readonly method: string;
  /** As OpenAPI writes it, e.g. `/files/{name}`. */
  readonly path: string;
  readonly schema: RouteOptions['schema'] & { readonly response: object };
}

/** The OpenAPI document of a server without Fastify, in the form of the controller's. */
export async function documentOf(head: OpenApiHead, routes: readonly DescribedRoute[]): Promise<object> {
  const app = Fastify();
  app.setValidatorCompiler(validatorCompiler);
  app.setSerializerCompiler(serializerCompiler);
  await app.register(swagger, openApi(head));
  for (const { method, path, schema } of routes) {
    const response = { ...schema.response, '4xx': problemAnswer, '5xx': problemAnswer };
    const url = path.replaceAll(/\{(\w+)\}/g, ':$1');
    app.route({ method, url, schema: { ...schema, response }, handler: async () => undefined });
  }
  await app.ready();
  return app.swagger();
}
