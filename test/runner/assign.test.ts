import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { connectBrowser } from '../../client/connect.ts';
import { OmicronError } from '../../contract/problem.ts';
import { eventually } from '../eventually.ts';
import { type FakeController, startFakeController } from '../fakes/controller.ts';
import { callText, connect, type RunnerProcess, startRunner } from './start.ts';

let controller: FakeController;
let runner: RunnerProcess;
beforeEach(async () => {
  controller = await startFakeController();
  runner = await startRunner(controller);
});
afterEach(async () => {
  await runner.dispose();
  await controller.close();
});

const codeOf = async (answer: Response): Promise<string> => {
  expect(answer.headers.get('content-type')).toBe('application/problem+json');
  return ((await answer.json()) as { code: string }).code; // a problem document, as the content type says
};

test('the same assignment gets the same answer, also at once and again later; any other is refused for good', async () => {
  const { token, mcpToken, sessionId } = await controller.assignment(runner);
  const answers = await Promise.all([1, 2, 3].map(() => runner.post('/assign', { token })));
  const again = await runner.post('/assign', { token });
  for (const answer of [...answers, again]) {
    expect(answer.status).toBe(200);
    expect(await answer.json()).toEqual({
      runner_id: runner.runnerId,
      boot_id: runner.bootId,
      session_id: sessionId,
      epoch: 1,
    });
  }
  expect(controller.redemptions).toBe(1);

  const other = await controller.assignment(runner);
  const refused = await runner.post('/assign', { token: other.token });
  expect(refused.status).toBe(409);
  expect(await codeOf(refused)).toBe('assignment_refused');
  expect(controller.redemptions).toBe(1);
  // The first lease is unharmed; the other's token opens nothing.
  const client = await connect(runner.url, mcpToken);
  expect(await callText(client, 'browser_tabs', { action: 'list' })).toContain('about:blank');
  await client.close();
  await expect(connect(runner.url, other.mcpToken)).rejects.toThrow();
});

test('[S7] short-lived MCP tokens open the lease that they name until they expire, and the SDK goes on with the next one', async () => {
  const { token, sessionId } = await controller.assignment(runner, { toolset: 'compat' });
  await runner.post('/assign', { token });
  const [first, second] = [controller.mcpToken(runner), controller.mcpToken(runner, { seconds: 120 })];
  for (const bearer of [first, second, first]) await (await connect(runner.url, bearer)).close();
  for (const bad of [
    controller.mcpToken(runner, { seconds: -60 }),
    controller.mcpToken(runner, { epoch: 2 }),
    controller.mcpToken(runner, { signWith: 'stranger' }),
    await controller.liveToken(runner),
  ])
    await expect(connect(runner.url, bad)).rejects.toThrow(/unauthorized|bearer token/i);

  // A connection whose token expires: a heartbeat brings the next one, and the call is made with it.
  let bearer = first;
  let heartbeats = 0;
  await using browser = await connectBrowser(
    {
      mcpUrl: `${runner.url}/mcp`,
      get headers() {
        return { Authorization: `Bearer ${bearer}` };
      },
      signal: new AbortController().signal,
      followSwitch: call => call(),
      async heartbeat() {
        heartbeats += 1;
        bearer = second;
      },
      restore: async () => false,
      connect: () => Promise.reject(new Error('it is connected')),
      release: async () => undefined,
      end: async () => undefined,
      [Symbol.asyncDispose]: async () => undefined,
    },
    fetch,
  );
  bearer = controller.mcpToken(runner, { seconds: -60 });
  const opened = await browser.callTool('browser_open');
  expect(JSON.parse(opened.text)).toMatchObject({ sessionId });
  expect(heartbeats).toBe(1);
});

test('an assignment that is not for this boot of this runner, or not from the controller, changes nothing', async () => {
  const wrong = await Promise.all([
    controller.assignment(runner, { audience: `runner/${runner.runnerId}/${randomUUID()}` }),
    controller.assignment(runner, { audience: 'runner-secrets' }),
    controller.assignment(runner, { signWith: 'stranger' }),
  ]);
  const { token } = await controller.assignment(runner);
  const [, payload] = token.split('.');
  const none = `${btoa('{"alg":"none"}').replaceAll('=', '')}.${payload}.`;
  for (const bad of [...wrong.map(order => order.token), none, `${token}x`, 'not a token', '']) {
    const answer = await runner.post('/assign', { token: bad });
    expect(answer.status).toBe(401);
    expect(await codeOf(answer)).toBe('unauthorized');
  }
  // A drain order is no assignment, and an assignment is no drain order.
  expect((await runner.post('/assign', { token: await controller.drainOrder(runner) })).status).toBe(401);
  expect((await runner.post('/drain', { token })).status).toBe(401);
  expect(controller.redemptions).toBe(0);
  expect((await runner.health()).body.phase).toBe('warm');
  expect((await runner.post('/assign', { token })).status).toBe(200);
});

test('waits for the runner of the epoch before to stop, then serves', async () => {
  const draining = () => new OmicronError('predecessor_draining', 'still draining', { retryAfterSeconds: 1 });
  controller.failNext('/internal/runner-secrets', draining(), draining(), draining());
  const { token } = await controller.assignment(runner);
  const answer = runner.post('/assign', { token });
  const duplicate = runner.post('/assign', { token });
  await eventually('it is being assigned', async () => (await runner.health()).body.phase === 'assigning');
  expect((await answer).status).toBe(200);
  expect((await duplicate).status).toBe(200);
  expect(controller.redemptions).toBe(1);
});

test('retries a controller that is out of reach for a moment', async () => {
  controller.failNext('/internal/runner-secrets', new OmicronError('store_unavailable', 'no database'));
  const { token } = await controller.assignment(runner);
  expect((await runner.post('/assign', { token })).status).toBe(200);
});

test('a lost answer of the controller costs nothing: the same process asks again and serves', async () => {
  controller.loseNextAnswer('/internal/runner-secrets');
  const { token, mcpToken } = await controller.assignment(runner);
  expect((await runner.post('/assign', { token })).status).toBe(200);
  expect(controller.redemptions).toBe(2);
  await (await connect(runner.url, mcpToken)).close();
});

test('a refused redemption leaves the runner without a lease, with the reason at /healthz', async () => {
  controller.failNext('/internal/runner-secrets', new OmicronError('redemption_refused', 'the claim was taken over'));
  const { token, mcpToken } = await controller.assignment(runner);
  const first = await runner.post('/assign', { token });
  expect(first.status).toBe(409);
  expect(await codeOf(first)).toBe('redemption_refused');
  expect(await codeOf(await runner.post('/assign', { token }))).toBe('redemption_refused');
  expect(await codeOf(await runner.post('/assign', { token: (await controller.assignment(runner)).token }))).toBe(
    'assignment_refused',
  );
  await expect(connect(runner.url, mcpToken)).rejects.toThrow(/lease_ended.*Request a new lease/s);
  const { status, body } = await runner.health();
  expect([status, body.phase, body.error?.code]).toEqual([503, 'failed', 'redemption_refused']);
  expect(controller.redemptions).toBe(0);
  // and it goes by itself: its lease may be ready, and the controller that led its start may have gone
  expect(await runner.exited).toBe(1);
});

test('an agent that comes while its runner redeems is served once it has; another one is refused at once', async () => {
  const draining = () => new OmicronError('predecessor_draining', 'still draining', { retryAfterSeconds: 1 });
  controller.failNext('/internal/runner-secrets', ...Array.from({ length: 8 }, draining));
  const { token, mcpToken } = await controller.assignment(runner);
  const answer = runner.post('/assign', { token });
  await eventually('assigning', async () => (await runner.health()).body.phase === 'assigning');
  const early = connect(runner.url, mcpToken);
  await expect(connect(runner.url, `${mcpToken}x`)).rejects.toThrow(/unauthorized/);
  expect((await runner.health()).body.phase).toBe('assigning');
  const client = await early;
  expect(await callText(client, 'browser_tabs', { action: 'list' })).toContain('about:blank');
  await client.close();
  expect((await answer).status).toBe(200);
});

test('a drain order that arrives while the assignment waits ends it', async () => {
  const draining = () => new OmicronError('predecessor_draining', 'still draining', { retryAfterSeconds: 1 });
  controller.failNext('/internal/runner-secrets', ...Array.from({ length: 100 }, draining));
  const { token } = await controller.assignment(runner);
  const answer = runner.post('/assign', { token }).then(
    ({ status }) => status,
    () => 'closed',
  );
  await eventually('assigning', async () => (await runner.health()).body.phase === 'assigning');
  expect((await runner.post('/drain', { token: await controller.drainOrder(runner) })).status).toBe(200);
  expect(await runner.exited).toBe(0);
  expect(await answer).not.toBe(200);
  expect(controller.redemptions).toBe(0);
});

test('/mcp answers 401 before the assignment and to a wrong token, and answers a connected client after the drain that the lease is over', async () => {
  const initialize = (token?: string) =>
    fetch(`${runner.url}/mcp`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'initialize',
        params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } },
      }),
    });
  const { token, mcpToken } = await controller.assignment(runner);
  const early = await initialize(mcpToken);
  expect(early.status).toBe(401);
  expect(early.headers.get('www-authenticate')).toBe('Bearer');
  expect(await codeOf(early)).toBe('unauthorized');
  await runner.post('/assign', { token });
  for (const wrong of [undefined, '', 'x', `${mcpToken}x`, mcpToken.toUpperCase(), token])
    expect((await initialize(wrong)).status).toBe(401);
  const session = await initialize(mcpToken);
  expect(session.status).toBe(200);
  const id = session.headers.get('mcp-session-id');
  // A session id alone opens nothing.
  const byId = await fetch(`${runner.url}/mcp`, {
    headers: { 'mcp-session-id': id ?? '', accept: 'text/event-stream' },
  });
  expect(byId.status).toBe(401);

  const client = await connect(runner.url, mcpToken);
  const running = callText(client, 'browser_wait_for', { time: 25 });
  expect((await runner.post('/drain', { token: await controller.drainOrder(runner) })).status).toBe(200);
  expect(await running).toContain('The lease has ended');
  // Its process may be gone by now; what answers then is tested with the local stack.
  const late = await callText(client, 'browser_tabs', { action: 'list' }).catch(() => 'The lease has ended');
  expect(late).toContain('The lease has ended');
  expect(await runner.exited).toBe(0);
});
