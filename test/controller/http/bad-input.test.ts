import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ProblemCode } from '../../../contract/problem.ts';
import { problemOf, type Stack, someUser, startStack } from '../stack.ts';
import { expectProblem, SECRET } from './expect-problem.ts';

// The API's routes with what is missing, wrong, oversized or hostile: always a problem document.

const NO_SESSION = '00000000-0000-4000-8000-000000000000';
let stack: Stack;
let sessionId: string;

beforeAll(async () => {
  stack = await startStack({ OMICRON_POOL_IDLE: 1 });
  const lease = await stack.lease({ user_id: 'bad-input', conversation_id: 'c' });
  sessionId = lease.session_id;
});
afterAll(() => stack[Symbol.asyncDispose]());

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
  ['a user that is a dot segment', { ...ids, user_id: '..' }],
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
  ['a tag named like a path', { ...ids, tags: { '../../../etc': 'x' } }],
  ['a tag that is an object', { ...ids, tags: { team: { toString: 1 } } }],
  ['a viewport of no height', { ...ids, viewport: { width: 800, height: 0 } }],
  ['a viewport that fills no screen', { ...ids, viewport: { width: 40_000, height: 800 } }],
  ['half a viewport', { ...ids, viewport: { width: 800 } }],
  ['a locale of no language', { ...ids, locale: 'de_CH.UTF-8' }],
  ['a private locale', { ...ids, locale: 'x-foo' }],
  ['a time zone of no place', { ...ids, timezone: 'Europe/Atlantis' }],
  ['a time zone that is a path', { ...ids, timezone: '../../etc/localtime' }],
  ['a colour scheme of no browser', { ...ids, color_scheme: 'sepia' }],
  ['a latitude beyond the pole', { ...ids, geolocation: { latitude: 91, longitude: 0 } }],
  ['a position without longitude', { ...ids, geolocation: { latitude: 47 } }],
  ['a user agent with a line break', { ...ids, user_agent_suffix: 'Example/1\r\nx-admin: 1' }],
  ['a user agent of 129 letters', { ...ids, user_agent_suffix: 'x'.repeat(129) }],
  ['a permission that is never given', { ...ids, permissions: ['camera'] }],
  ['a list', []],
  ['a number', 7],
  ['null', null],
];

it('says that a URL or headers are too large', async () => {
  const answer = await stack.call('GET', `/internal/browser-sessions?cursor=${'x'.repeat(20_000)}`);
  expectProblem(answer, 'invalid_request');
  expect(problemOf(answer).detail).toContain('16 KiB');
});

describe('get-or-create', () => {
  it.each(bodies)('refuses %s', async (_what, body) => {
    const answer = await stack.call('POST', GET_OR_CREATE, { body });
    expectProblem(answer, 'invalid_request');
    expect(problemOf(answer).errors?.length).toBeGreaterThan(0);
  });

  it.each([
    ['user_id', { ...ids, user_id: 42 }, 'must be a text such as "42", not a number'],
    ['conversation_id', { ...ids, conversation_id: null }, 'must be a text such as "42", not null'],
    ['user_id', { conversation_id: 'c' }, 'is required'],
  ])('says how a %s is written', async (name, body, why) => {
    const answer = await stack.call('POST', GET_OR_CREATE, { body });
    expect(problemOf(answer).detail).toBe(`Invalid request: body/${name} ${why}.`);
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
    ['deep nesting of what is ignored', `{"a":${'{"a":'.repeat(8_000)}1${'}'.repeat(8_001)}`, 'invalid_request'],
    ['bytes that are no UTF-8', '{"user_id":"\ufffd\ufffd","conversation_id":7}', 'invalid_request'],
  ])('refuses a body of %s', async (_what, raw, code, headers) => {
    expectProblem(await stack.call('POST', GET_OR_CREATE, { raw, ...(headers ? { headers } : {}) }), code);
  });

  it.each([
    ['the longest id', 'a'.repeat(256)],
    ['letters of every kind', 'Ünïcødé 🦊 字 العربية'],
    ['SQL', `'; drop schema omicron cascade; --`],
    ['a path', '../../../../etc/passwd'],
    ['a template', '$(id){{7*7}}%s%n'],
    ['a prototype', '__proto__'],
  ])('takes %s for what it is: an id', async (_what, user) => {
    const lease = await stack.lease({ user_id: user, conversation_id: user });
    const { body } = await stack.call('GET', `/internal/browser-sessions/${lease.session_id}`);
    expect(body).toMatchObject({ user_id: user, conversation_id: user });
    const credentials = `/internal/users/${encodeURIComponent(user)}/credentials`;
    const stored = await stack.call('PUT', `${credentials}/shop`, { body: { username: 'u', password: 'p' } });
    expect(stored.status).toBe(204);
    expect((await stack.call('GET', credentials)).body).toMatchObject({
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
    'code=',
    'code=Policy',
    'code=a%00b',
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
