import { randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PROBLEM_TYPE, PROBLEMS, type ProblemCode } from '../../contract/problem.ts';
import { eventually } from '../eventually.ts';
import { type Answer, problemOf, type Stack, someUser, startStack } from './stack.ts';

// Every route with what is missing, wrong, oversized or hostile: always a problem document, never a fault of the controller.

const NO_SESSION = '00000000-0000-4000-8000-000000000000';
const SECRET = 'hunter2-must-not-be-echoed';
let stack: Stack;
let sessionId: string;
const runnerTokens = { lease: '', artifacts: '' };

beforeAll(async () => {
  stack = await startStack({ OMICRON_POOL_IDLE: 1 });
  const lease = await stack.lease({ user_id: 'bad-input', conversation_id: 'c' });
  sessionId = lease.session_id;
  const runner = await eventually('the leased runner', () =>
    [...stack.machine.runners.values()].find(it => it.redeemed),
  );
  runnerTokens.lease = runner.redeemed?.lease_token ?? '';
  runnerTokens.artifacts = runner.redeemed?.artifact_token ?? '';
});
afterAll(() => stack[Symbol.asyncDispose]());

function expectProblem(answer: Answer, code: ProblemCode): void {
  expect(answer.body).toMatchObject({
    code,
    status: PROBLEMS[code].status,
    type: `urn:omicron-browser:problem:${code}`,
  });
  expect(answer.status).toBe(PROBLEMS[code].status);
  expect(answer.headers.get('content-type')).toContain(PROBLEM_TYPE);
  const problem = problemOf(answer);
  expect(problem.detail.length).toBeGreaterThan(10);
  const whole = JSON.stringify(answer.body);
  for (const leak of [SECRET, '    at ', 'node_modules', '.ts:', 'select ', 'omicron.', 'eyJ'])
    expect(whole).not.toContain(leak);
}

const ids = { user_id: 'ada', conversation_id: 'c1' };
const GET_OR_CREATE = '/internal/browser-sessions/get-or-create';

const bodies: [string, unknown][] = [
  ['no ids', {}],
  ['no conversation', { user_id: 'ada' }],
  ['an empty user', { ...ids, user_id: '' }],
  ['a user that is a number', { ...ids, user_id: 7 }],
  ['a user that is a list', { ...ids, user_id: ['ada'] }],
  ['a user that is an object', { ...ids, user_id: { $ne: null } }],
  ['a user with a null byte', { ...ids, user_id: 'ada\u0000' }],
  ['a user with a newline', { ...ids, user_id: 'ada\nlevel=50' }],
  ['a user with a lone surrogate', { ...ids, user_id: 'ada\ud800' }],
  ['a user of 257 bytes', { ...ids, user_id: 'a'.repeat(257) }],
  ['a user of 86 three-byte letters', { ...ids, user_id: '字'.repeat(86) }],
  ['a conversation that is null', { ...ids, conversation_id: null }],
  ['no time to live', { ...ids, ttl_seconds: 0 }],
  ['a negative time to live', { ...ids, ttl_seconds: -1 }],
  ['half a second to live', { ...ids, ttl_seconds: 600.5 }],
  ['ages to live', { ...ids, ttl_seconds: 1e308 }],
  ['a time to live that is text', { ...ids, ttl_seconds: '600' }],
  ['too long a wait', { ...ids, wait_seconds: 61 }],
  ['a wait that is not a number', { ...ids, wait_seconds: null }],
  ['a recording that is text', { ...ids, record_video: 'yes' }],
  ['an unknown field', { ...ids, password: SECRET }],
  ['a field that is none of the caller’s', { ...ids, runner_id: randomUUID() }],
  ['tags that are a list', { ...ids, tags: ['a'] }],
  ['seventeen tags', { ...ids, tags: Object.fromEntries(Array.from({ length: 17 }, (_, n) => [`t${n}`, 'x'])) }],
  ['a tag of 257 letters', { ...ids, tags: { team: 'x'.repeat(257) } }],
  ['a tag with a null byte', { ...ids, tags: { team: 'a\u0000' } }],
  ['a tag named like a path', { ...ids, tags: { '../../etc': 'x' } }],
  ['a tag that is an object', { ...ids, tags: { team: { toString: 1 } } }],
  ['a list', []],
  ['a number', 7],
  ['null', null],
];

describe('get-or-create', () => {
  it.each(bodies)('refuses %s', async (_what, body) => {
    const answer = await stack.call('POST', GET_OR_CREATE, { body });
    expectProblem(answer, 'invalid_request');
    expect(problemOf(answer).errors?.length).toBeGreaterThan(0);
  });

  it.each<[string, string, ProblemCode, Record<string, string>?]>([
    ['broken JSON', '{"user_id": "ada", ', 'invalid_request'],
    [
      'JSON with a polluted prototype',
      '{"user_id":"ada","conversation_id":"c","__proto__":{"admin":true}}',
      'invalid_request',
    ],
    [
      'a polluted constructor',
      '{"user_id":"ada","conversation_id":"c","constructor":{"prototype":{"a":1}}}',
      'invalid_request',
    ],
    ['a tag named __proto__', '{"user_id":"ada","conversation_id":"c","tags":{"__proto__":"x"}}', 'invalid_request'],
    ['a form', 'user_id=ada', 'unsupported_media_type', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['text', JSON.stringify(ids), 'unsupported_media_type', { 'content-type': 'text/plain' }],
    ['a content type that is none', JSON.stringify(ids), 'unsupported_media_type', { 'content-type': 'nonsense' }],
    ['65 KiB', JSON.stringify({ ...ids, padding: 'x'.repeat(65 * 1024) }), 'payload_too_large'],
    ['nothing', '', 'invalid_request'],
    ['deep nesting', `${'['.repeat(20_000)}${']'.repeat(20_000)}`, 'invalid_request'],
    ['bytes that are no UTF-8', '{"user_id":"\ufffd\ufffd","conversation_id":7}', 'invalid_request'],
  ])('refuses a body of %s', async (_what, raw, code, headers) => {
    expectProblem(await stack.call('POST', GET_OR_CREATE, { raw, ...(headers ? { headers } : {}) }), code);
  });

  it.each([
    ['the longest id', 'a'.repeat(256)],
    ['letters of every kind', 'Ünïcødé 🦊 字 العربية'],
    ['SQL', `'; drop schema omicron cascade; --`],
    ['a path', '../../../etc/passwd'],
    ['a template', '$(id){{7*7}}%s%n'],
    ['a prototype', '__proto__'],
  ])('takes %s for what it is: an id', async (_what, user) => {
    const lease = await stack.lease({ user_id: user, conversation_id: user });
    const { body } = await stack.call('GET', `/internal/browser-sessions/${lease.session_id}`);
    expect(body).toMatchObject({ user_id: user, conversation_id: user });
    const credentials = `/internal/users/${encodeURIComponent(user)}/credentials`;
    const stored = await stack.call('PUT', `${credentials}/shop`, { body: { username: 'u', password: 'p' } });
    expect(stored.status).toBe(204);
    expect((await stack.call('GET', credentials)).body).toEqual({
      sites: [{ site: 'shop', secret_names: ['SHOP_USERNAME', 'SHOP_PASSWORD'] }],
    });
    await stack.call('DELETE', `/internal/browser-sessions/${lease.session_id}`);
  });
});

describe('every route with a session id', () => {
  const routes: [string, string][] = [
    ['GET', ''],
    ['DELETE', ''],
    ['POST', '/heartbeat'],
    ['POST', '/archive'],
    ['GET', '/events'],
    ['GET', '/artifacts'],
  ];
  it.each(routes)('%s …%s refuses what is no id and does not know a stranger’s', async (method, end) => {
    for (const bad of ['', 'x', '1', `${NO_SESSION}0`, '%00', '%27%20or%201=1', "';--", 'null', '%F0%9F%A6%8A'])
      expectProblem(await stack.call(method, `/internal/browser-sessions/${bad}${end}`), 'invalid_request');
    const unknown = await stack.call(method, `/internal/browser-sessions/${NO_SESSION}${end}`);
    expectProblem(unknown, 'session_not_found');
    const foreign = await stack.call(method, `/internal/browser-sessions/${sessionId}${end}`, { user: someUser() });
    expect(foreign.body).toEqual(unknown.body);
    expect(foreign.status).toBe(unknown.status);
    expectProblem(
      await stack.call(method, `/internal/browser-sessions/${sessionId}${end}`, { token: null }),
      'unauthorized',
    );
  });

  it.each<[string, unknown]>([
    ['none', { epoch: 0 }],
    ['a fraction', { epoch: 1.5 }],
    ['text', { epoch: '1' }],
    ['more than a number of the database holds', { epoch: 2 ** 31 }],
    ['the largest safe number', { epoch: Number.MAX_SAFE_INTEGER }],
    ['null', { epoch: null }],
    ['an unknown field', { epoch: 1, force: true }],
  ])('heartbeat refuses an epoch of %s', async (_what, body) => {
    expectProblem(
      await stack.call('POST', `/internal/browser-sessions/${sessionId}/heartbeat`, { body }),
      'invalid_request',
    );
  });

  it.each([
    'epoch=0',
    'epoch=-1',
    'epoch=x',
    'epoch=',
    'epoch=1.5',
    'epoch=2147483648',
    'epoch=9e99',
    'epoch=1&epoch=2',
    'force=1',
  ])('DELETE refuses ?%s', async query => {
    expectProblem(await stack.call('DELETE', `/internal/browser-sessions/${sessionId}?${query}`), 'invalid_request');
  });

  it.each([
    'limit=0',
    'limit=201',
    'limit=x',
    'cursor=abc',
    'cursor=-1',
    'cursor=1;2',
    `cursor=${'9'.repeat(64)}`,
    'x=1',
  ])('events refuse ?%s', async query => {
    expectProblem(
      await stack.call('GET', `/internal/browser-sessions/${sessionId}/events?${query}`),
      'invalid_request',
    );
  });
});

const cursorOf = (...parts: unknown[]) => `cursor=${Buffer.from(JSON.stringify(parts)).toString('base64url')}`;

describe('the list', () => {
  it.each([
    'limit=0',
    'limit=201',
    'limit=-1',
    'limit=NaN',
    'limit=',
    'status=alive',
    'status=ready&status=ended',
    'user_id=',
    'user_id=a&user_id=b',
    'user_id=a%00b',
    'archived=maybe',
    'tag=novalue',
    'tag=:x',
    'tag=team:',
    'tag=team:a%00b',
    'tag=__proto__:x',
    Array.from({ length: 17 }, (_, n) => `tag=t${n}:x`).join('&'),
    'cursor=nonsense',
    'cursor=%00',
    `cursor=${'a'.repeat(513)}`,
    cursorOf(),
    cursorOf('now', NO_SESSION),
    cursorOf("2026-01-01T00:00:00Z'--", NO_SESSION),
    cursorOf('0000-01-01T00:00:00Z', NO_SESSION),
    cursorOf('2026-01-01T00:00:00+23:59', NO_SESSION),
    cursorOf('2026-01-01T00:00:00Z', 'x'),
    'unknown=1',
    'user_id[$ne]=1',
  ])('refuses ?%s', async query => {
    expectProblem(await stack.call('GET', `/internal/browser-sessions?${query}`), 'invalid_request');
  });

  it('shows a limited token its own user only', async () => {
    expectProblem(
      await stack.call('GET', '/internal/browser-sessions?user_id=bad-input', { user: someUser() }),
      'forbidden',
    );
    const { body } = await stack.call('GET', '/internal/browser-sessions', { user: someUser() });
    expect(body).toEqual({ sessions: [], next_cursor: null });
  });
});

describe('credentials', () => {
  const credential = { username: 'u', password: SECRET };
  it.each<[string, unknown]>([
    ['nothing', {}],
    ['no user name', { password: SECRET }],
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

  it('of another user are forbidden to a limited token', async () => {
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

  it('what a page may put into a tool call is written down: null bytes, broken text, endless depth', async () => {
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
    const deep = `${'['.repeat(30_000)}${']'.repeat(30_000)}`;
    const raw = `{"events":[{"id":"${randomUUID()}","kind":"tool.call","age_ms":0,"data":{"deep":${deep}}}]}`;
    expect((await stack.call('POST', '/internal/runner-events', { raw, token: runnerTokens.lease })).status).toBe(204);
  });
});

describe('the server itself', () => {
  it.each([
    ['GET', '/'],
    ['GET', '/internal'],
    ['GET', '//internal/browser-sessions'],
    ['PUT', '/internal/browser-sessions'],
    ['PATCH', GET_OR_CREATE],
    ['GET', '/internal/runner-secrets'],
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
