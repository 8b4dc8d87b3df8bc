import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type OutgoingHttpHeaders, request } from 'node:http';
import { connect as tcp } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { ENV, RUNNER_COMMAND } from '../../contract/names.ts';
import { problemSchema } from '../../contract/problem.ts';
import { RUNNER_ROUTES } from '../../runner/routes.ts';
import { runnerSettings } from '../../runner/settings.ts';
import { eventually } from '../eventually.ts';
import { type FakeController, startFakeController } from '../fakes/controller.ts';
import { type RunnerProcess, startRunner } from './start.ts';

let controller: FakeController;
let runner: RunnerProcess;
beforeAll(async () => {
  controller = await startFakeController();
  runner = await startRunner(controller);
});
afterAll(async () => {
  await runner.dispose();
  await controller.close();
});

const send = (path: string, init: RequestInit) => fetch(`${runner.url}${path}`, init);
const json = { 'content-type': 'application/json' };

test.each([
  ['no body', { method: 'POST', headers: json }, 400],
  ['broken JSON', { method: 'POST', headers: json, body: '{"token":' }, 400],
  ['null', { method: 'POST', headers: json, body: 'null' }, 400],
  ['a list', { method: 'POST', headers: json, body: '[]' }, 400],
  ['a number as token', { method: 'POST', headers: json, body: '{"token":1}' }, 400],
  ['a further member', { method: 'POST', headers: json, body: '{"token":"x","__proto__":{},"admin":true}' }, 400],
  ['a token too long', { method: 'POST', headers: json, body: JSON.stringify({ token: 'x'.repeat(20_000) }) }, 400],
  ['a body too long', { method: 'POST', headers: json, body: JSON.stringify({ token: 'x'.repeat(40_000) }) }, 413],
  ['another media type', { method: 'POST', headers: { 'content-type': 'text/plain' }, body: '{}' }, 415],
  ['bytes that are no text', { method: 'POST', headers: json, body: new Uint8Array([0xff, 0xfe, 0]) }, 400],
  [
    'a body nested deep',
    { method: 'POST', headers: json, body: `{"token":${'['.repeat(5_000)}${']'.repeat(5_000)}}` },
    400,
  ],
  ['GET', { method: 'GET' }, 405],
] satisfies [string, RequestInit, number][])(
  '/assign and /drain answer %s with a problem document',
  async (_, init, status) => {
    for (const path of ['/assign', '/drain']) {
      const answer = await send(path, init);
      expect(answer.status).toBe(status);
      expect(answer.headers.get('content-type')).toBe('application/problem+json');
      expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
      const problem = problemSchema.parse(await answer.json());
      expect(problem.status).toBe(status);
      expect(JSON.stringify(problem)).not.toMatch(/\\n +at |\.ts:/);
    }
  },
);

test.each(
  Object.entries(RUNNER_ROUTES)
    .filter(([path]) => path !== '/live') // test/live/ opens its WebSockets
    .flatMap(([path, methods]) => Object.keys(methods).map(method => [method, path] as const)),
)('%s %s of the OpenAPI document is served', async (method, path) => {
  const answer = await send(path.replace('{name}', 'x'), { method });
  expect([200, 401, 415]).toContain(answer.status);
});

test.each(['/', '/nothing', '/assign/', '/mcp/x', '/__proto__', '/constructor', '/../etc/passwd', '/live'])(
  'there is no route %s',
  async path => {
    const answer = await send(path, { method: 'POST', headers: json, body: '{}' });
    expect(answer.status).toBe(404);
    expect(problemSchema.parse(await answer.json()).code).toBe('route_not_found');
  },
);

test.each([
  ['bytes that are no HTTP', '\x00\x01garbage\r\n\r\n', 'well-formed HTTP'],
  ['headers that are too long', `GET / HTTP/1.1\r\nhost: x\r\nx: ${'x'.repeat(40_000)}\r\n\r\n`, '16 KiB'],
])('%s are answered with a problem document that no browser reads as another type', async (_, sent, says) => {
  const socket = tcp(Number(new URL(runner.url).port), '127.0.0.1');
  socket.write(sent);
  const answer = await text(socket);
  expect(answer).toMatch(/^HTTP\/1\.1 400 .*\r\n.*content-type: application\/problem\+json/s);
  expect(answer).toContain('x-content-type-options: nosniff');
  expect(answer).toContain(says);
});

test('bytes that are no HTTP, and a client that sends its body forever, do not harm the others', async () => {
  const socket = tcp(Number(new URL(runner.url).port), '127.0.0.1');
  socket.end('\x00\x01garbage\r\n\r\n');
  expect(await text(socket)).toContain('400');
  const slow = tcp(Number(new URL(runner.url).port), '127.0.0.1');
  slow.write('POST /assign HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{');
  expect((await runner.health()).status).toBe(200);
  slow.destroy();
  expect((await runner.health()).status).toBe(200);
  expect(runner.output()).not.toContain('unexpected error');
});

test('a client that offers HTTP/2, as Java’s HttpClient does with each request, is answered', async () => {
  const headers = { connection: 'Upgrade, HTTP2-Settings', upgrade: 'h2c', 'http2-settings': '' };
  const sent = request(`${runner.url}/healthz`, { headers, agent: false }).end();
  const [answer] = await once(sent, 'response');
  answer.resume();
  expect(answer.statusCode).toBe(200);
});

test('[S5] health has two gates: a browser that hangs shuts the one of the protocol within 2 s, with its log', async () => {
  const good = await runner.health();
  expect([good.status, good.body.phase]).toEqual([200, 'warm']);
  expect(good.body.browser.process.ok).toBe(true);
  expect(good.body.browser.protocol.detail).toMatch(/Chrome/);
  process.kill(runner.browserPid(), 'SIGSTOP');
  try {
    const hung = await runner.health();
    expect(hung.status).toBe(503);
    expect(hung.body.browser.process.ok).toBe(true);
    expect(hung.body.browser.protocol).toEqual({ ok: false, detail: 'no answer in 1500 ms' });
    expect(hung.body.log).toBeInstanceOf(Array);
  } finally {
    process.kill(runner.browserPid(), 'SIGCONT');
  }
  await eventually('health again', async () => (await runner.health()).status === 200);
});

test('a browser that cannot start is a runner that failed, with the reason, and stays so', async () => {
  const broken = await startRunner(controller, { [ENV.chromiumPath]: '/bin/false' }, 'failed');
  const { status, body } = await broken.health();
  expect([status, body.error?.code]).toEqual([503, 'runner_start_failed']);
  const { token } = await controller.assignment(broken);
  const answer = await broken.post('/assign', { token });
  expect(problemSchema.parse(await answer.json()).code).toBe('runner_start_failed');
  broken.child.kill('SIGTERM');
  expect(await broken.exited).toBe(0);
  await broken.dispose();
});

const environment = () => ({
  [ENV.runnerId]: randomUUID(),
  [ENV.controllerUrl]: controller.url,
  [ENV.controllerJwks]: controller.jwks,
  [ENV.runnerPort]: '0',
  [ENV.portFile]: '/tmp/omicron-test-never',
  [ENV.outputDir]: '/tmp/omicron-test-never',
});

test.each([
  [ENV.runnerId, 'not-a-uuid'],
  [ENV.runnerId, ''],
  [ENV.controllerUrl, 'file:///etc/passwd'],
  [ENV.controllerJwks, '{"keys":[]}'],
  [ENV.controllerJwks, 'nonsense'],
  [ENV.runnerPort, '70000'],
  [ENV.portFile, ''],
  [ENV.outputDir, ''],
  [ENV.chromiumSandbox, 'false'],
  [ENV.egressUrl, 'nonsense'],
])('a wrong %s (%j) is named in one line', (name, value) => {
  expect(() => runnerSettings(environment())).not.toThrow();
  expect(() => runnerSettings({ ...environment(), [name]: value })).toThrow(
    new RegExp(`^The runner cannot start:\n  ${name} is (wrong: .+|not set.*)$`),
  );
});

test('a wrong environment is named on stderr, line by line, and the exit code is 2', () => {
  const env = { PATH: process.env.PATH, ...environment(), [ENV.outputDir]: '' };
  const run = spawnSync(process.execPath, [RUNNER_COMMAND.main], { encoding: 'utf8', env });
  expect([run.status, run.stdout]).toEqual([2, '']);
  expect(run.stderr).toBe('The runner cannot start:\n  OMICRON_OUTPUT_DIR is not set\n');
});

test('the browser is driven over a pipe: no port of it can be reached', () => {
  const command = readFileSync(`/proc/${runner.browserPid()}/cmdline`, 'utf8');
  expect(command).toContain('--remote-debugging-pipe');
  expect(command).not.toContain('--remote-debugging-port');
});

/** The status of a call of `/mcp` with these headers, and the code of its problem document. */
async function mcp(at: RunnerProcess, headers: OutgoingHttpHeaders): Promise<[number | undefined, string]> {
  const asked = request(`${at.url}/mcp`, { method: 'POST', headers: { ...json, ...headers } });
  asked.end('{}');
  const [answer] = await once(asked, 'response');
  return [answer.statusCode, problemSchema.parse(JSON.parse(await text(answer))).code];
}

test.each<[string, OutgoingHttpHeaders]>([
  ['a page of a stranger', { origin: 'https://evil.test' }],
  ['a page without an origin', { origin: 'null' }],
  ['a page on another port', { origin: 'http://127.0.0.1:1' }],
  ['a name that a stranger may point here', { host: 'evil.test' }],
  ['a page of that name (DNS rebinding)', { host: 'evil.test', origin: 'http://evil.test' }],
  ['a name that only begins as one of a cluster', { host: 'a.b.svc.cluster.local.evil.test' }],
  ['no host that is one', { host: 'a b' }],
])('/mcp refuses %s before it looks at the token', async (_, headers) => {
  expect(await mcp(runner, headers)).toEqual([403, 'origin_refused']);
});

test.each<[string, OutgoingHttpHeaders]>([
  ['its address', {}],
  ['a name of the machine', { host: 'localhost:8931' }],
  ['an IPv6 address', { host: '[::1]:8931' }],
  ['a name in the cluster', { host: 'runner-1.omicron-runners.svc.cluster.local:8931' }],
  ['its own origin', { host: 'localhost:8931', origin: 'http://localhost:8931' }],
])('/mcp asks for the token of a request to %s', async (_, headers) => {
  expect(await mcp(runner, headers)).toEqual([401, 'unauthorized']);
});

test('OMICRON_MCP_ORIGINS allows the pages of an origin, and a gateway that keeps its own Host', async () => {
  const allowing = await startRunner(controller, {
    [ENV.mcpOrigins]: 'https://console.test,https://gateway.test:8443',
  });
  onTestFinished(() => allowing.dispose());
  expect(await mcp(allowing, { origin: 'https://console.test' })).toEqual([401, 'unauthorized']);
  expect(await mcp(allowing, { host: 'gateway.test:8443' })).toEqual([401, 'unauthorized']);
  expect(await mcp(allowing, { origin: 'http://console.test' })).toEqual([403, 'origin_refused']);
  expect(await mcp(allowing, { host: 'console.test.evil.test' })).toEqual([403, 'origin_refused']);
});
