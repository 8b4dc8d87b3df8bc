import type { FastifyDynamicSwaggerOptions } from '@fastify/swagger';
import { jsonSchemaTransform, jsonSchemaTransformObject } from 'fastify-type-provider-zod';

const bearer = (description: string) => ({ type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description }) as const;

/** The document's head; its paths and schemas come from the routes. */
export const openApi = (version: string): FastifyDynamicSwaggerOptions => ({
  openapi: {
    openapi: '3.1.0',
    info: {
      title: 'omicron-browser session controller',
      version,
      description:
        'Leases isolated browsers for AI agents: one runner per (user, conversation), served over Playwright MCP.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    components: {
      securitySchemes: {
        service: bearer('HS256, 60 s, aud browser-session-controller'),
        egress: bearer('HS256 under a secret of its own, 60 s, aud egress-authorize'),
        runner: bearer('EdDSA, issued by the controller to one runner'),
      },
    },
  },
  transform: jsonSchemaTransform,
  transformObject: jsonSchemaTransformObject,
});
