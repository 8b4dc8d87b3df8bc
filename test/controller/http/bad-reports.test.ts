import { randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PROBLEM_TYPE } from '../../../contract/problem.ts';
import { CALL_DEPTH_MAX } from '../../../http/json-body.ts';
import { problemOf, type Stack, someUser, startStack } from '../stack.ts';
import { expectProblem, SECRET } from './expect-problem.ts';

// Credentials, a hostile runner's reports, and the server itself with what is wrong, oversized or hostile.

const NO_SESSION = '00000000-0000-4000-8000-000000000000';
const GET_OR_CREATE = '/internal/browser-sessions/get-or-create';
let stack: Stack;
let sessionId: string;
const runnerTokens = { lease: '', artifacts: '' };

beforeAll(async () => {
  stack = await startStack({ OMICRON_POOL_IDLE: 1 });
  const lease = await stack.lease();
  sessionId = lease.session_id;
  const { given } = await stack.machine.leased();
  runnerTokens.lease = given.lease_token;
  runnerTokens.artifacts = given.artifact_token;
});
afterAll(() => stack[Symbol.asyncDispose]());

describe('credentials', () => {
  const credential = { username: 'u', password: SECRET };
  it.each<[string, unknown]>([
    ['nothing', {}],
    ['no username', { password: SECRET }],
    ['an empty password', { username: 'u', password: '' }],
    ['a password that is a list', { username: 'u', password: [SECRET] }],
    ['a password of 4,097 letters', { username: 'u', password: SECRET.repeat(158) }],
    ['a password with a null byte', { username: 'u', password: `${SECRET}\u0000` }],
    ['a password with a lone surrogate', { username: 'u', password: `${SECRET}\udfff` }],
    ['a third field', { ...credential, otp: SECRET }],
    ['text', SECRET],
  ])('are refused with %s, and not repeated', async (_what, body) => {
    expectProblem(await stack.call('PUT', '/internal/users/ada/credentials/shop', { body }), 'invalid_request');
  });

  it.each(['-x', '.hidden', '__proto__', 'a%2Fb', 'a%20b', 'a'.repeat(65), '%00', 'shöp', '%E2%80%AE'])(
    'are refused for a site named %s',
    async site => {
      for (const method of ['PUT', 'DELETE'])
        expectProblem(
          await stack.call(
            method,
            `/internal/users/ada/credentials/${site}`,
            method === 'PUT' ? { body: credential } : {},
          ),
          'invalid_request',
        );
    },
  );

  it('are refused for a second site with the same secret names', async () => {
    const user = someUser();
    const put = (site: string) =>
      stack.call('PUT', `/internal/users/${user}/credentials/${site}`, { body: credential });
    expect((await put('my-shop')).status).toBe(204);
    const answer = await put('my.shop');
    expectProblem(answer, 'invalid_request');
    expect(problemOf(answer).detail).toContain('MY_SHOP_USERNAME');
    expect((await put('my-shop')).status).toBe(204);
  });

  it('are forbidden to a token limited to another user', async () => {
    for (const [method, site] of [
      ['GET', ''],
      ['PUT', '/shop'],
      ['DELETE', '/shop'],
    ] as const) {
      const options = { user: someUser(), ...(method === 'PUT' ? { body: credential } : {}) };
      expectProblem(await stack.call(method, `/internal/users/ada/credentials${site}`, options), 'forbidden');
    }
  });
});

describe('reports of a hostile runner', () => {
  const event = { id: randomUUID(), kind: 'tool.call', age_ms: 0, data: {} };
  const report = (path: string, body: unknown) =>
    stack.call('POST', `/internal/${path}`, {
      body,
      token: path === 'runner-artifacts' ? runnerTokens.artifacts : runnerTokens.lease,
    });

  it.each<[string, string, unknown]>([
    ['runner-activity', 'nothing', {}],
    ['runner-activity', 'fewer calls than none', { calls: -1 }],
    ['runner-activity', 'half a call', { calls: 0.5 }],
    ['runner-activity', 'more calls than the database counts', { calls: 2 ** 31 }],
    ['runner-activity', 'more than it may say', { calls: 1, expires_at: '2099-01-01T00:00:00Z' }],
    ['runner-events', 'nothing', { events: [] }],
    ['runner-events', '101 events', { events: Array.from({ length: 101 }, () => ({ ...event, id: randomUUID() })) }],
    ['runner-events', 'an event of the life cycle', { events: [{ ...event, kind: 'session.ready' }] }],
    ['runner-events', 'an id that is none', { events: [{ ...event, id: 'x' }] }],
    ['runner-events', 'an event from the future', { events: [{ ...event, age_ms: -1 }] }],
    ['runner-events', 'an event from before time', { events: [{ ...event, age_ms: 1e300 }] }],
    ['runner-events', 'data that is a list', { events: [{ ...event, data: [1] }] }],
    ['runner-events', 'another lease', { events: [{ ...event, session_id: NO_SESSION }] }],
    ['runner-artifacts', 'nothing', {}],
    ['runner-artifacts', 'a name that is a path', { state: 'stored', name: '../x', uri: 'file:///x', bytes: 1 }],
    ['runner-artifacts', 'no size', { state: 'stored', name: 'x', uri: 'file:///x' }],
    ['runner-artifacts', 'a negative size', { state: 'stored', name: 'x', uri: 'file:///x', bytes: -1 }],
    ['runner-artifacts', 'a null byte in its address', { state: 'stored', name: 'x', uri: 'file:///\u0000', bytes: 1 }],
    ['runner-artifacts', 'a null byte in its reason', { state: 'lost', name: 'x', reason: 'a\u0000' }],
    ['runner-artifacts', 'a state that is not its to say', { state: 'expired', name: 'x', reason: 'r' }],
    ['runner-artifacts', 'a loss without a reason', { state: 'lost', name: 'x', reason: '' }],
  ])('%s: %s is refused', async (path, _what, body) => {
    expectProblem(await report(path, body), 'invalid_request');
  });

  it('store everything that a page can put into a tool call: null bytes, broken text, depth', async () => {
    const data = {
      text: 'a\u0000b',
      broken: 'x\ud800y',
      back: 'c:\\u0000',
      '\u0000key': 1,
      nested: [{ __proto: '\udc00' }],
    };
    const answer = await report('runner-events', { events: [{ ...event, id: randomUUID(), data }] });
    expect(answer.status).toBe(204);
    const { body } = await stack.call('GET', `/internal/browser-sessions/${sessionId}/events`);
    const { events } = body as { events: { kind: string; data: Record<string, unknown> }[] }; // EventPage
    expect(events.findLast(each => each.kind === 'tool.call')?.data).toEqual({
      text: 'a\ufffdb',
      broken: 'x\ufffdy',
      back: 'c:\\u0000',
      '\ufffdkey': 1,
      nested: [{ __proto: '\ufffd' }],
    });
    expect((await reportNested(CALL_DEPTH_MAX)).status).toBe(204);
  });

  it('endless depth, which no runner takes from an agent, is refused', async () => {
    expectProblem(await reportNested(30_000), 'invalid_request');
  });

  /** Arguments of a call, as deep as this. */
  function reportNested(depth: number) {
    const deep = `${'['.repeat(depth)}${']'.repeat(depth)}`;
    const raw = `{"events":[{"id":"${randomUUID()}","kind":"tool.call","age_ms":0,"data":{"arguments":${deep}}}]}`;
    return stack.call('POST', '/internal/runner-events', { raw, token: runnerTokens.lease });
  }
});

describe('the server itself', () => {
  it.each([
    ['PUT', '/internal/browser-sessions', 'GET, HEAD'],
    ['PATCH', GET_OR_CREATE, 'DELETE, GET, HEAD, POST'],
    ['GET', '/internal/runner-secrets', 'POST'],
  ])('refuses %s %s and names the methods of the path', async (method, path, allow) => {
    const answer = await stack.call(method, path);
    expectProblem(answer, 'method_not_allowed');
    expect(answer.headers.get('allow')).toBe(allow);
  });

  it.each([
    ['GET', '/'],
    ['GET', '/internal'],
    ['GET', '//internal/browser-sessions'],
    ['GET', '/internal/browser-sessions/..%2f..%2fmetrics/x'],
    ['GET', '/.env'],
    ['TRACE', '/'],
  ])('knows no %s %s', async (method, path) => {
    if (method === 'TRACE')
      return expect(await onTheWire(`${method} ${path} HTTP/1.1\r\nhost: x\r\n\r\n`)).toContain('404');
    expectProblem(await stack.call(method, path), 'route_not_found');
  });

  it.each([
    '/internal/browser-sessions/%',
    '/internal/users/%ff/credentials',
    '/%zz',
    '/internal/users/%C0%AF/credentials',
  ])('refuses the address %s with a problem document', async path => {
    expectProblem(await stack.call('GET', path), 'invalid_request');
  });

  it('answers a caller who sends no HTTP, or too much of it, with a problem document', async () => {
    for (const sent of [
      'nonsense\r\n\r\n',
      `GET / HTTP/1.1\r\nhost: x\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`,
      'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n',
    ]) {
      const answer = await onTheWire(sent);
      expect(answer).toMatch(/^HTTP\/1.1 400 /);
      expect(answer).toContain(PROBLEM_TYPE);
      expect(answer).toContain('"code":"invalid_request"');
    }
  });

  it('keeps secrets out of the log, whatever it was sent', async () => {
    const logged = stack.logged();
    expect(logged).not.toContain(SECRET);
    expect(logged).not.toMatch(/eyJ[\w-]{10,}\./);
    expect(logged).not.toContain('"level":50');
  });
});

/** Sends bytes and answers what came back until the server closed. */
async function onTheWire(bytes: string): Promise<string> {
  const { hostname, port } = new URL(stack.url);
  const socket = connect(Number(port), hostname);
  socket.write(bytes);
  if (bytes.startsWith('TRACE')) socket.end();
  return text(socket);
}
