import type { FastifyDynamicSwaggerOptions } from '@fastify/swagger';
import { jsonSchemaTransform, jsonSchemaTransformObject } from 'fastify-type-provider-zod';

const bearerScheme = (description: string) =>
  ({ type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description }) as const;

/** Head of a document; its paths and schemas come from the routes. */
export interface OpenApiHead {
  readonly title: string;
  readonly version: string;
  readonly description: string;
  /** Default host and port of the server. */
  readonly host: string;
  readonly port: string;
  /** Descriptions of the bearer tokens, by the scheme's name. */
  readonly tokens: Readonly<Record<string, string>>;
}

export const openApi = ({
  title,
  version,
  description,
  host,
  port,
  tokens,
}: OpenApiHead): FastifyDynamicSwaggerOptions => ({
  openapi: {
    openapi: '3.1.0',
    info: { title, version, description, license: { name: 'Apache-2.0', identifier: 'Apache-2.0' } },
    servers: [{ url: 'http://{host}:{port}', variables: { host: { default: host }, port: { default: port } } }],
    components: {
      securitySchemes: Object.fromEntries(
        Object.entries(tokens).map(([name, about]) => [name, bearerScheme(about)] as const),
      ),
    },
  },
  transform: jsonSchemaTransform,
  transformObject: document => pruneSchemas(jsonSchemaTransformObject(document)),
});

/** The head of the controller's own document. */
export const controllerHead = (version: string): OpenApiHead => ({
  title: 'omicron-browser session controller',
  version,
  description:
    'Leases isolated browsers for AI agents: one runner per (user, conversation), served over Playwright MCP.',
  host: 'browser-session-controller',
  port: '8080',
  tokens: {
    service:
      'HS256 under the secret that the platform shares with the controller (OMICRON_SERVICE_JWT_SECRET, 32 bytes or more). Claims: `aud` is `browser-session-controller`; `exp`, in seconds since 1970, is at most 60 s from now; `iat` is optional, and exp may then be 60 s after it at most; `user_id` is optional and limits the call to that user; others are ignored. Clocks may differ by 5 s.',
    egress: 'HS256 under a secret of its own, aud `egress-authorize`; else as `service`',
    runner: 'EdDSA, issued by the controller to one runner',
  },
});

/** Every schema is generated twice, as it is sent (`Input`) and as it is answered. Keeps those that a route uses, one under its own name. */
function pruneSchemas<Document extends object>(document: Document): Document {
  const { components, ...rest } = document as { components: { schemas: Record<string, object> } };
  const used = new Set<string>();
  const collect = (part: unknown): void => {
    for (const name of namesIn(part)) {
      if (used.has(name)) continue;
      used.add(name);
      collect(components.schemas[name]);
    }
  };
  collect(rest);
  const nameOf = (name: string) => {
    const own = name.replace(/Input$/, '');
    return used.has(own) ? name : own;
  };
  // generators name what they write by the title, where there is one
  const schemaOf = (name: string) => ({
    ...components.schemas[name],
    ...(name !== nameOf(name) || !name.endsWith('Input') ? {} : { title: undefined }),
  });
  const schemas = Object.fromEntries([...used].sort().map(name => [nameOf(name), schemaOf(name)]));
  const text = JSON.stringify({ ...rest, components: { ...components, schemas } });
  return JSON.parse(text.replaceAll(REFERENCE, (_all, name: string) => `"${SCHEMAS}${nameOf(name)}"`));
}

const SCHEMAS = '#/components/schemas/';
const REFERENCE = new RegExp(`"${SCHEMAS}(\\w+)"`, 'g');
const namesIn = (part: unknown): string[] =>
  [...(JSON.stringify(part) ?? '').matchAll(REFERENCE)].flatMap(([, name]) => name ?? []);
