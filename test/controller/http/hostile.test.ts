import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { AUDIENCES } from '../../../contract/names.ts';
import { problemSchema } from '../../../contract/problem.ts';
import { serviceKey, signServiceToken } from '../../../contract/tokens.ts';
import { type Stack, startStack } from '../stack.ts';

// Whatever route is added: hostile values at every place of it, with a token that is let in, are never the
// controller's fault.

const TEXTS = [
  '',
  'x',
  '\u0000',
  'a\u0000b',
  '\ud800',
  '../../../etc/passwd',
  `'; drop schema omicron; --`,
  '__proto__',
  'x'.repeat(5_000),
  '𝕏'.repeat(300),
  '-1',
  '99999999999999999999',
];
const VALUES: unknown[] = [
  ...TEXTS,
  null,
  true,
  -1,
  0,
  1.5,
  2 ** 31,
  2 ** 53,
  1e308,
  [],
  ['x'],
  {},
  { x: { x: {} } },
  [[[[]]]],
  { constructor: { prototype: 1 } },
];

interface Operation {
  security: Record<string, unknown>[];
  requestBody?: { content: { 'application/json'?: { schema: object } } };
  parameters?: { name: string; in: string }[];
}
type Schemas = Record<
  string,
  { properties?: Record<string, unknown>; oneOf?: object[]; anyOf?: object[]; $ref?: string }
>;

let stack: Stack;
let tokens: Record<string, string[]>;
let document: { paths: Record<string, Record<string, Operation>>; components: { schemas: Schemas } };
let sessionId: string;
beforeAll(async () => {
  stack = await startStack({ OMICRON_POOL_IDLE: 1, OMICRON_USER_LIMIT: 100 });
  document = (await stack.call('GET', '/openapi.json')).body as typeof document; // openapi.test.ts judges it
  const lease = await stack.lease({ ttl_seconds: 3_600 });
  sessionId = lease.session_id;
  const { runner, given } = await stack.machine.leased();
  const egressKey = serviceKey(stack.settings.egressSecret);
  tokens = {
    service: [await signServiceToken(stack.serviceKey)],
    runner: [given.lease_token, given.artifact_token, runner.assignmentToken ?? ''],
    egress: [await signServiceToken(egressKey, undefined, AUDIENCES.egress)],
  };
});
afterAll(() => stack[Symbol.asyncDispose]());

/** Names of the fields that a body may have, through references and choices. */
function fieldsOf(schema: Schemas[string] | undefined): string[] {
  if (!schema) return [];
  if (schema.$ref) return fieldsOf(document.components.schemas[schema.$ref.split('/').at(-1) ?? '']);
  const choices = [...(schema.oneOf ?? []), ...(schema.anyOf ?? [])] as Schemas[string][]; // JSON Schema
  return [...Object.keys(schema.properties ?? {}), ...choices.flatMap(fieldsOf)];
}

async function neverAFault(method: string, path: string, body: string | undefined, token: string): Promise<void> {
  const answer = await fetch(`${stack.url}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body }),
  });
  if (answer.headers.get('content-type')?.startsWith('text/event-stream')) {
    expect(answer.status).toBe(200);
    await answer.body?.cancel(); // a stream has no end
    return;
  }
  const text = await answer.text();
  const what = `${method} ${path.slice(0, 200)} ${body?.slice(0, 200) ?? ''}: ${answer.status} ${text.slice(0, 300)}`;
  expect(answer.status, what).toBeLessThan(500);
  if (answer.status >= 400) {
    expect(problemSchema.safeParse(JSON.parse(text)).success, what).toBe(true);
    expect(text, what).not.toMatch(/\n {4}at |node_modules|\.ts:\d/);
  }
}

it('hostile values at every place of every route are refused or taken, never a fault', {
  timeout: 180_000,
}, async () => {
  let calls = 0;
  for (const [template, methods] of Object.entries(document.paths))
    for (const [name, operation] of Object.entries(methods)) {
      const method = name.toUpperCase();
      const [scheme = ''] = Object.keys(operation.security[0] ?? {});
      const fill = (values: Record<string, string> = {}) =>
        template.replaceAll(
          /\{(\w+)\}/g,
          (_, key: string) => values[key] ?? (key === 'session_id' ? sessionId : randomUUID()),
        );
      const waits = template.includes('watch')
        ? { wait_ms: 0 }
        : template.includes('get-or-create')
          ? { wait_seconds: 0 }
          : {};
      const ends = (method === 'DELETE' && template.endsWith('{session_id}')) || template.endsWith('/archive');
      const paths = [
        ...TEXTS.flatMap(text =>
          [...template.matchAll(/\{(\w+)\}/g)].map(([, key = '']) =>
            fill({ [key]: encodeURIComponent(text.toWellFormed()) || '%20' }),
          ),
        ),
        ...(operation.parameters ?? [])
          .filter(each => each.in === 'query')
          .flatMap(each =>
            TEXTS.map(
              text =>
                `${ends ? fill({ session_id: randomUUID() }) : fill()}?${each.name}=${encodeURIComponent(text.toWellFormed())}`,
            ),
          ),
      ];
      const fields = fieldsOf(operation.requestBody?.content['application/json']?.schema);
      const bodies = operation.requestBody
        ? [
            ...VALUES,
            ...fields.flatMap(field => VALUES.map(value => ({ ...waits, [field]: value }))),
            ...VALUES.map(value => Object.fromEntries(fields.map(field => [field, value]))),
          ]
        : [];
      for (const token of tokens[scheme] ?? []) {
        const work = [
          ...paths.map(path => () => neverAFault(method, path, operation.requestBody ? '{}' : undefined, token)),
          ...bodies.map(body => () => neverAFault(method, fill(), JSON.stringify(body), token)),
        ];
        calls += work.length;
        for (let at = 0; at < work.length; at += 25) await Promise.all(work.slice(at, at + 25).map(run => run()));
      }
    }
  expect(calls).toBeGreaterThan(1_000);
  expect(stack.logged()).not.toContain('"msg":"a request failed"');
});
