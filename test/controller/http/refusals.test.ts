import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventPage } from '../../../contract/session.ts';
import { type Stack, someUser, startStack } from '../stack.ts';

// How an operator finds what was refused: in the timeline by its code, in the log by its route and ids.

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({ OMICRON_POOL_IDLE: 1 });
});
afterAll(() => stack[Symbol.asyncDispose]());

it('narrows the timeline to the events of a code, page by page', async () => {
  const lease = await stack.lease();
  const { given } = await stack.machine.leased(lease.session_id);
  const events = ['policy_blocked', 'tabs_full', 'policy_blocked', undefined].map(code => ({
    ...{ id: randomUUID(), kind: 'tool.call', age_ms: 0 },
    data: { tool: 'browser_click', ...(code && { code }) },
  }));
  const report = { body: { events }, token: given.lease_token };
  expect((await stack.call('POST', '/internal/runner-events', report)).status).toBe(204);
  const page = async (query: string) => {
    const { body } = await stack.call('GET', `/internal/browser-sessions/${lease.session_id}/events?${query}`);
    const { events, next_cursor } = eventPage.parse(body);
    return { codes: events.map(({ data }) => data.code), next_cursor };
  };
  const first = await page('code=policy_blocked&limit=1');
  expect(first.codes).toEqual(['policy_blocked']);
  const second = await page(`code=policy_blocked&limit=1&cursor=${first.next_cursor}`);
  expect(second).toEqual({ codes: ['policy_blocked'], next_cursor: null });
  expect(await page('code=tabs_full')).toEqual({ codes: ['tabs_full'], next_cursor: null });
  expect(await page('code=dialog_open')).toEqual({ codes: [], next_cursor: null });
});

it('logs a refused request at debug, with its route, its code and our ids, and neither its path nor what it holds', async () => {
  const user = someUser();
  const session = randomUUID();
  await stack.call('POST', `/internal/browser-sessions/${session}/heartbeat`, { body: { epoch: 7 } });
  await stack.call('PUT', `/internal/users/${user}/credentials/shop`, { body: { username: 'u', password: [user] } });
  await stack.call('GET', `/nowhere/${user}`);
  const lines = stack
    .logged()
    .split('\n')
    .filter(line => line.includes('request refused'))
    .map(line => JSON.parse(line));
  const level = pino.levels.values.debug;
  expect(lines).toContainEqual(
    expect.objectContaining({
      ...{ level, method: 'POST', route: '/internal/browser-sessions/:session_id/heartbeat' },
      ...{ code: 'session_not_found', session_id: session, epoch: 7 },
    }),
  );
  const route = '/internal/users/:user_id/credentials/:site';
  expect(lines).toContainEqual(expect.objectContaining({ level, method: 'PUT', route, code: 'invalid_request' }));
  expect(lines).toContainEqual(expect.objectContaining({ level, method: 'GET', code: 'route_not_found' }));
  expect(JSON.stringify(lines)).not.toContain(user);
});
