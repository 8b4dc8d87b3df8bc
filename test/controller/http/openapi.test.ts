import { createRequire } from 'node:module';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { buildServer, type ServerParts } from '../../../controller/http/server.ts';
import { eventually } from '../../eventually.ts';
import { run } from '../../local/machine.ts';
import { type Answer, type Stack, startStack } from '../stack.ts';

// The document that callers generate their clients from: valid, complete, and true of what is answered.

interface Operation {
  operationId: string;
  security: Record<string, unknown>[];
  requestBody?: { content: Record<string, { schema: object }> };
  responses: Record<string, { content?: Record<string, { schema: object }> }>;
}

interface OpenApi {
  openapi: string;
  paths: Record<string, Record<string, Operation>>;
}

let stack: Stack;
let document: OpenApi;
beforeAll(async () => {
  stack = await startStack();
  document = (await stack.call('GET', '/openapi.json', { token: null })).body as OpenApi; // validated below
});
afterAll(() => stack[Symbol.asyncDispose]());

const SCHEME = [
  [/\/runner-/, 'runner'],
  [/\/egress\//, 'egress'],
  [/./, 'service'],
] as const;

/** Every route that a server registers, e.g. `GET /internal/policy`, read from the router's own tree. */
async function registered(): Promise<string[]> {
  const parts = {
    log: pino({ level: 'silent' }),
    version: '1',
    serviceKey: new Uint8Array(32),
    egressKey: new Uint8Array(32),
  };
  const app = await buildServer(parts as unknown as ServerParts); // only its routes are read, nothing is called
  const branch: string[] = [];
  const routes = app
    .printRoutes({ commonPrefix: false })
    .split('\n')
    .flatMap(line => {
      const [, indent = '', part = '', methods = ''] = /^([│ ]*)[├└]── (\S+)(?: \((.*)\))?$/.exec(line) ?? [];
      if (!part) return [];
      branch.splice(indent.length / 4, branch.length, part);
      const path = branch.join('').replaceAll(/:(\w+)/g, '{$1}');
      return methods.split(', ').map(method => `${method} ${path}`);
    });
  return routes.filter(route => / \/internal\//.test(route) && !/^(HEAD|OPTIONS) /.test(route)).sort();
}

it('is valid OpenAPI 3.1', async () => {
  const result = await new Validator().validate({ ...structuredClone(document) });
  expect(result).toMatchObject({ valid: true });
  expect(document.openapi).toBe('3.1.0');
});

it('has every route of the server and no other, and each is served', async () => {
  const described = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map(method => `${method.toUpperCase()} ${path}`),
  );
  expect(described.sort()).toEqual(await registered());
  expect(described.length).toBeGreaterThan(14);
  for (const route of described) {
    const [method = '', path = ''] = route.split(' ');
    // a route that exists asks for a token; one that does not is not found
    const answer = await stack.call(method, path.replaceAll(/\{\w+\}/g, 'x'), { token: null });
    expect(answer.status, route).toBe(401);
  }
});

/** Routes whose bodies are files. */
const BYTES = /\/files\/\{name\}$/;

it('names, secures and describes every operation', () => {
  const operations = Object.values(document.paths).flatMap(methods => Object.values(methods));
  expect(new Set(operations.map(operation => operation.operationId)).size).toBe(operations.length);
  for (const [path, methods] of Object.entries(document.paths))
    for (const [method, operation] of Object.entries(methods)) {
      const [, scheme] = SCHEME.find(([pattern]) => pattern.test(path)) ?? [];
      expect(operation.security, path).toEqual([{ [scheme ?? '']: [] }]);
      expect(operation.responses['4XX']?.content, path).toBeTruthy();
      expect(operation.responses['5XX']?.content, path).toBeTruthy();
      if (method === 'put' || /get-or-create|heartbeat|activity|-events|-artifacts|totp|egress/.test(path))
        expect(
          operation.requestBody?.content[BYTES.test(path) ? 'application/octet-stream' : 'application/json'],
          path,
        ).toHaveProperty('schema');
    }
});

it('is true of the answers', async () => {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats.default(ajv);
  ajv.addSchema(document, 'openapi');
  const pointer = (text: string) => text.replaceAll('~', '~0').replaceAll('/', '~1');

  const check = (method: string, path: string, answer: Answer) => {
    const responses = document.paths[path]?.[method]?.responses ?? {};
    const status = responses[answer.status] ? String(answer.status) : `${String(answer.status)[0]}XX`;
    expect(responses[status], `${method} ${path} does not describe ${answer.status}`).toBeTruthy();
    const [type = ''] = (answer.headers.get('content-type') ?? '').split(';');
    if (answer.status === 204) return;
    expect(Object.keys(responses[status]?.content ?? {}), `${method} ${path} ${status}`).toContain(type);
    const validate = ajv.getSchema(
      `openapi#/paths/${pointer(path)}/${method}/responses/${status}/content/${pointer(type)}/schema`,
    );
    if (!validate) throw new Error(`${method} ${path} ${status} has no schema`);
    validate(answer.body);
    expect(validate.errors, `${method} ${path} ${status} ${JSON.stringify(answer.body)}`).toBeNull();
  };

  const lease = await stack.lease({ tags: { team: 'ops' } });
  const one = `/internal/browser-sessions/${lease.session_id}`;
  const template = '/internal/browser-sessions/{session_id}';
  check('post', '/internal/browser-sessions/get-or-create', await stack.getOrCreate());
  check('post', '/internal/browser-sessions/get-or-create', await stack.getOrCreate({ user_id: '' }));
  check('post', `${template}/heartbeat`, await stack.call('POST', `${one}/heartbeat`, { body: { epoch: 1 } }));
  check('post', `${template}/heartbeat`, await stack.call('POST', `${one}/heartbeat`, { body: { epoch: 9 } }));
  check('get', '/internal/browser-sessions', await stack.call('GET', '/internal/browser-sessions'));
  check('get', template, await stack.call('GET', one));
  check('get', template, await stack.call('GET', one, { token: null }));
  check('get', `${template}/events`, await stack.call('GET', `${one}/events`));
  const credentials = '/internal/users/{user_id}/credentials';
  const body = { username: 'u', password: 'p' };
  check('put', `${credentials}/{site}`, await stack.call('PUT', '/internal/users/ada/credentials/shop', { body }));
  check('get', credentials, await stack.call('GET', '/internal/users/ada/credentials'));
  check('delete', `${credentials}/{site}`, await stack.call('DELETE', '/internal/users/ada/credentials/shop'));
  const { given } = await stack.machine.leased();
  const activity = await stack.call('POST', '/internal/runner-activity', {
    body: { calls: 1 },
    token: given.lease_token,
  });
  check('post', '/internal/runner-activity', activity);
  check('delete', template, await stack.call('DELETE', `${one}?epoch=1`));
  await eventually('its recording', async () => {
    const answer = await stack.call('GET', `${one}/artifacts`);
    check('get', `${template}/artifacts`, answer);
    return (answer.body as { artifacts: unknown[] }).artifacts.length === 1; // ArtifactList, just checked
  });
  check('post', `${template}/archive`, await stack.call('POST', `${one}/archive`));
  check('get', `${template}/events`, await stack.call('GET', `${one}/events`));
});

it.each(['openapi', 'internal-openapi', 'runner-openapi'])('Redocly’s linter has nothing to say of %s', async name => {
  const program = createRequire(import.meta.url).resolve('@redocly/cli/bin/cli.js');
  const quiet = { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };
  const { stdout } = await run(process.execPath, [program, 'lint', `docs/${name}.json`, '--format=json'], {
    env: quiet,
  });
  expect(JSON.parse(stdout)).toMatchObject({ problems: [] });
});
