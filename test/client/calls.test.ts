import { afterAll, beforeAll, expect, it } from 'vitest';
import { BrowserSessions } from '../../client/browser-sessions.ts';
import { json } from '../fakes/controller/answer.ts';
import { ended, SESSION_ID } from '../fakes/controller/clients.ts';
import { type FakeController, startFakeController } from '../fakes/controller.ts';

const SESSION = `/internal/browser-sessions/${SESSION_ID}`;
const ACTION_ID = '7d0a3a52-54a5-4b1c-9a0e-0f6a2d7a9f11';
const AT = '2026-01-01T00:00:00.000Z';
const UNUSED = { sessions: 0, leases: 0, lease_seconds: 0, artifacts: 0, artifact_bytes: 0 };
const policy = { version: 1 };
const action = {
  id: ACTION_ID,
  session_id: SESSION_ID,
  epoch: 1,
  reason: 'a code',
  credential: null,
  status: 'done',
  note: null,
  created_at: '2026-01-01T00:00:00.000Z',
  expires_at: '2026-01-01T00:02:00.000Z',
  answered_at: '2026-01-01T00:01:00.000Z',
};
const page = (name: string) => json(200, { [name]: [], next_cursor: null });

const NUMBER = 42 as unknown as string; // as JavaScript may give it

let controller: FakeController;
let sessions: BrowserSessions;
beforeAll(async () => {
  controller = await startFakeController();
  sessions = new BrowserSessions(controller);
});
afterAll(() => controller.close());

it.each([
  {
    sent: 'GET /internal/browser-sessions?user_id=ada&conversation_id=c&archived=true&limit=7&tag=a%3A1&tag=b%3A2',
    call: () =>
      sessions.list({ userId: 'ada', conversationId: 'c', tags: { a: '1', b: '2' }, archived: true, limit: 7 }),
    answer: page('sessions'),
    user: 'ada',
  },
  { sent: `GET ${SESSION}`, call: () => sessions.get(SESSION_ID, { userId: 'ada' }), answer: ended(), user: 'ada' },
  { sent: `DELETE ${SESSION}?epoch=3`, call: () => sessions.end(SESSION_ID, { epoch: 3 }), answer: ended() },
  { sent: `POST ${SESSION}/archive`, call: () => sessions.archive(SESSION_ID), answer: ended() },
  {
    sent: `GET ${SESSION}/events?cursor=x&code=policy_blocked`,
    call: () => sessions.listEvents(SESSION_ID, { cursor: 'x', code: 'policy_blocked' }),
    answer: page('events'),
  },
  {
    sent: `GET ${SESSION}/artifacts`,
    call: () => sessions.listArtifacts(SESSION_ID),
    answer: json(200, { artifacts: [] }),
  },
  {
    sent: `POST ${SESSION}/artifacts/${ACTION_ID}/url`,
    call: () => sessions.createArtifactUrl(SESSION_ID, ACTION_ID, { ttlSeconds: 30, userId: 'ada' }),
    answer: json(200, { url: 'https://bucket.s3.example/tab-001.webm', expires_at: AT }),
    user: 'ada',
  },
  {
    sent: 'GET /internal/usage?by=tag%3Ateam&user_id=ada&since=2026-05-01T00%3A00%3A00Z&limit=7&tag=a%3A1',
    call: () =>
      sessions.getUsage({ by: 'tag:team', userId: 'ada', since: '2026-05-01T00:00:00Z', limit: 7, tags: { a: '1' } }),
    answer: json(200, { since: AT, until: AT, by: 'tag:team', usage: [], total: UNUSED }),
    user: 'ada',
  },
  {
    sent: `GET ${SESSION}/user-actions`,
    call: () => sessions.listUserActions(SESSION_ID),
    answer: json(200, { user_actions: [] }),
  },
  {
    sent: `POST ${SESSION}/user-actions/${ACTION_ID}`,
    call: () => sessions.answerUserAction(SESSION_ID, ACTION_ID, { status: 'done' }, { userId: 'ada' }),
    answer: json(200, action),
    user: 'ada',
  },
  {
    sent: 'GET /internal/user-actions',
    call: () => sessions.listPendingUserActions(),
    answer: json(200, { user_actions: [] }),
  },
  {
    sent: `POST ${SESSION}/live-token`,
    call: () => sessions.createLiveToken(SESSION_ID, { role: 'control', viewer: 'bob', userId: 'ada' }),
    answer: json(200, { token: 't', role: 'control', epoch: 1, expires_at: '2026-01-01T00:01:00.000Z' }),
    user: 'ada',
  },
  {
    sent: 'GET /internal/users/a%2Fb/credentials',
    call: () => sessions.listCredentials('a/b'),
    answer: json(200, { sites: [] }),
    user: 'a/b',
  },
  {
    sent: 'PUT /internal/users/ada/credentials/shop',
    call: () => sessions.putCredential('ada', 'shop', { username: 'u', password: 'p' }),
    answer: { status: 204 },
    user: 'ada',
  },
  {
    sent: 'DELETE /internal/users/ada/credentials/shop',
    call: () => sessions.deleteCredential('ada', 'shop'),
    answer: { status: 204 },
    user: 'ada',
  },
  { sent: 'GET /internal/policy', call: () => sessions.getPolicy({}), answer: json(200, { policy: null }) },
  {
    sent: 'PUT /internal/users/ada/policy',
    call: () => sessions.putPolicy({ userId: 'ada' }, policy),
    answer: json(200, { policy }),
  },
  {
    sent: `DELETE ${SESSION}/policy`,
    call: () => sessions.deletePolicy({ sessionId: SESSION_ID }),
    answer: { status: 204 },
  },
  {
    sent: `GET ${SESSION}/policy/effective`,
    call: () => sessions.getEffectivePolicy(SESSION_ID),
    answer: json(200, { version: '1', layers: [] }),
  },
])('sends $sent, under a token for $user', async ({ sent, call, answer, user }) => {
  controller.answerNext(answer);
  await call();
  const { method, path, userId } = controller.seen.at(-1) ?? {};
  expect(`${method} ${path}`).toBe(sent);
  expect(userId).toBe(user);
});

it.each(['.', '..', '', '\ud800'])(
  'takes no %j for an id: users/../policy is the policy of the deployment',
  async text => {
    const calls = [
      () => sessions.putPolicy({ userId: text }, policy),
      () => sessions.deletePolicy({ sessionId: text }),
      () => sessions.get(text),
      () => sessions.readFile(SESSION_ID, text),
    ];
    const seen = controller.seen.length;
    for (const call of calls) await expect(call()).rejects.toMatchObject({ code: 'invalid_request' });
    expect(controller.seen.length).toBe(seen);
  },
);

it.each([
  ['acquire', () => sessions.acquire({ userId: NUMBER, conversationId: 'c' })],
  ['listCredentials', () => sessions.listCredentials(NUMBER)],
  ['list', () => sessions.list({ userId: NUMBER })],
])('says of a user id that is a number that it must be a text: %s', async (_, call) => {
  await expect(async () => call()).rejects.toMatchObject({
    code: 'invalid_request',
    message: expect.stringContaining('must be a text such as "42", not a number'),
  });
});
