import { documentOf, openApiDocument } from '../../controller/openapi.ts';
import manifest from '../../package.json' with { type: 'json' };
import { RUNNER_ROUTES, RUNNER_TOKENS } from '../../runner/routes.ts';
import { EXAMPLES } from './openapi-examples.ts';

export interface OpenApiDocument {
  info: { title: string; description: string };
  paths: Record<string, Record<string, Operation>>;
  components: {
    schemas: Record<string, { title?: string; examples?: object[] }>;
    securitySchemes: Record<string, object>;
  };
}

interface Operation {
  operationId: string;
  summary?: string;
  tags?: string[];
  security: Record<string, unknown>[];
}

const SCHEMAS = /"#\/components\/schemas\/(\w+)"/g;
export const schemasIn = (part: unknown): string[] =>
  [...JSON.stringify(part).matchAll(SCHEMAS)].flatMap(([, name]) => name ?? []);

const runnerDocument = (): Promise<object> =>
  documentOf(
    {
      title: 'omicron-browser runner',
      version: manifest.version,
      description:
        "A runner holds one browser and serves one lease. Its controller gives it orders, agents reach the lease's tools at `/mcp`, and viewers the live view at `/live`.",
      host: 'runner',
      port: '8080',
      tokens: RUNNER_TOKENS,
    },
    Object.entries(RUNNER_ROUTES).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { tag, security, ...schema }]) => ({
        method,
        path,
        schema: { ...schema, tags: [tag], security: security === 'none' ? [] : [{ [security]: [] }] },
      })),
    ),
  );

/** The part of a document whose operations take tokens of these schemes. */
function partOf(document: OpenApiDocument, schemes: readonly string[], info: Partial<OpenApiDocument['info']>) {
  const takes = ({ security }: Operation) => security.some(each => schemes.some(scheme => scheme in each));
  const only = <Value>(record: Record<string, Value>, isKept: (name: string, value: Value) => boolean) =>
    Object.fromEntries(Object.entries(record).filter(([name, value]) => isKept(name, value)));
  const paths = Object.fromEntries(
    Object.entries(document.paths)
      .map(([path, methods]) => [path, only(methods, (_method, operation) => takes(operation))] as const)
      .filter(([, methods]) => Object.keys(methods).length > 0),
  );
  const { schemas, securitySchemes } = document.components;
  const used = new Set<string>();
  const collect = (part: unknown): void => {
    for (const name of schemasIn(part)) {
      if (used.has(name)) continue;
      used.add(name);
      collect(schemas[name]);
    }
  };
  collect(paths);
  return {
    ...document,
    info: { ...document.info, ...info },
    components: {
      securitySchemes: only(securitySchemes, name => schemes.includes(name)),
      schemas: only(schemas, name => used.has(name)),
    },
    paths,
  };
}

/** The document, with an example of each schema that has one. */
function withExamples(document: OpenApiDocument): OpenApiDocument {
  const schemas = Object.entries(document.components.schemas).map(([name, schema]) => {
    const example = EXAMPLES[name];
    return [name, example === undefined ? schema : { ...schema, examples: [example] }] as const;
  });
  return { ...document, components: { ...document.components, schemas: Object.fromEntries(schemas) } };
}

/** The OpenAPI documents of docs/, by their paths: the API for platforms, that of runners and proxies, and what a runner serves. */
export async function openApiDocuments(): Promise<[path: string, document: OpenApiDocument][]> {
  const plain = (document: object) => JSON.parse(JSON.stringify(document)) as OpenApiDocument; // the library's type has more
  const controller = plain(await openApiDocument());
  const internal = {
    title: 'omicron-browser session controller: routes of runners and egress proxies',
    description: 'Routes by which a runner redeems its lease and reports, and an egress proxy asks for decisions.',
  };
  return [
    ['docs/openapi.json', withExamples(partOf(controller, ['service'], {}))],
    ['docs/internal-openapi.json', partOf(controller, ['runner', 'egress'], internal)],
    ['docs/runner-openapi.json', plain(await runnerDocument())],
  ];
}
