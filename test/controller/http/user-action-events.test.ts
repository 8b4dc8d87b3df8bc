import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { signServiceToken } from '../../../contract/tokens.ts';
import { sqlUserActions } from '../../../controller/store/user-actions.ts';
import { eventually } from '../../eventually.ts';
import { listenTo, type ServerSent } from '../server-sent.ts';
import { type Stack, someUser, startStack } from '../stack.ts';

let stack: Stack;
beforeAll(async () => {
  stack = await startStack();
});
afterAll(() => stack[Symbol.asyncDispose]());

const PATH = '/internal/user-actions/events';

async function listen(user?: string) {
  const events: ServerSent[] = [];
  const reader = await listenTo({ replica: stack, path: PATH, user, onEvent: event => events.push(event) });
  return { ...reader, events };
}

/** As an agent of this lease asks its person, at another replica: this one does not hear of it. */
async function ask(lease: { session_id: string; epoch: number }, reason: string): Promise<string> {
  const id = randomUUID();
  const [row] = await stack.database.query<{ runner_id: string }>(
    'select runner_id from omicron.browser_sessions where id = $1',
    [lease.session_id],
  );
  const key = { session_id: lease.session_id, epoch: lease.epoch, runner_id: row?.runner_id ?? '' };
  expect(await sqlUserActions(stack.database).ask(key, id, reason, 60)).not.toBeNull();
  return id;
}

test('[A10] a platform learns of a request and of its answer at once; one that connects later, of what is pending', async () => {
  const lease = await stack.lease({ user_id: someUser() });
  const listener = await listen();
  expect(listener.response.headers.get('content-type')).toContain('text/event-stream');
  const id = await ask(lease, 'a code');
  const isAbout = ({ data }: { data: Record<string, unknown> }) => data.id === id;
  const requested = await eventually('the request', () => listener.events.find(isAbout));
  expect(requested).toMatchObject({
    event: 'user_action.requested',
    data: { reason: 'a code', session_id: lease.session_id, status: 'pending' },
  });
  const later = await listen();
  await eventually('the pending one', () => later.events.find(isAbout));
  const answer = await stack.call('POST', `/internal/browser-sessions/${lease.session_id}/user-actions/${id}`, {
    body: { status: 'done', note: 'only for the agent' },
  });
  expect(answer.status).toBe(200);
  for (const { events } of [listener, later])
    await eventually('its end', () => events.filter(isAbout).some(({ event }) => event === 'user_action.closed'));
  expect(JSON.stringify(listener.events)).not.toContain('only for the agent');
  listener.stop();
  later.stop();
});

test('a token of one user hears of that user alone, and without one there is no stream', async () => {
  const [ada, grace] = [someUser(), someUser()];
  const hers = await stack.lease({ user_id: ada });
  const other = await stack.lease({ user_id: grace });
  const listener = await listen(ada);
  await ask(other, 'not for her');
  const id = await ask(hers, 'for her');
  await eventually('her own', () => listener.events.some(({ data }) => data.id === id));
  expect(listener.events.map(({ data }) => data.user_id)).toEqual([ada]);
  listener.stop();
  expect((await stack.call('GET', PATH, { token: null })).status).toBe(401);
});

test('a replica that stops ends its streams, and asks the database for no one', async () => {
  const own = await startStack();
  const response = await fetch(`${own.url}${PATH}`, {
    headers: { authorization: `Bearer ${await signServiceToken(own.serviceKey)}` },
  });
  await own.stop();
  await response.text(); // it has an end
  await own[Symbol.asyncDispose]();
});

test('HEAD opens no stream, which no client would close', async () => {
  const authorization = `Bearer ${await signServiceToken(stack.serviceKey)}`;
  const response = await fetch(`${stack.url}${PATH}`, { method: 'HEAD', headers: { authorization } });
  expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET']);
});
