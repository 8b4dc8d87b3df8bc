import { expect, it } from 'vitest';
import { eventually } from '../../eventually.ts';
import { movableClock } from '../../fakes/movable-clock.ts';
import { type Stack, someUser } from '../stack.ts';
import { asIngress } from './as-ingress.ts';
import { gatewayClient, HOLD, HOST, startGateway, textOf } from './gateway.ts';

const CALLS = 2_000;
const CONVERSATIONS = 8;

it(`[M7] loses none of ${CALLS} calls when a replica stops, and runs none of them twice`, {
  timeout: 300_000,
}, async () => {
  await using gateway = await startGateway({ OMICRON_USER_LIMIT: CONVERSATIONS });
  const replicas: [Stack, Stack] = [await gateway.replica(), await gateway.replica()];
  const token = await gateway.issuer.token(someUser());
  let retried = 0;

  /** As a client does that has two addresses of a service: what was not answered is sent to the other one. */
  async function call(n: number): Promise<unknown> {
    for (let attempt = n; ; attempt++) {
      try {
        const answer = await asIngress(HOST)(`${replicas[attempt % 2]?.url}/mcp`, {
          method: 'POST',
          headers: {
            'content-type': 'application/json',
            accept: 'application/json, text/event-stream',
            authorization: `Bearer ${token}`,
          },
          body: JSON.stringify({
            jsonrpc: '2.0',
            id: n,
            method: 'tools/call',
            params: { name: 'browser_type', arguments: { n, sessionId: `chat-${n % CONVERSATIONS}` } },
          }),
        });
        expect(answer.status).toBe(200);
        const text = await answer.text();
        return JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? text);
      } catch (error) {
        if (!(error instanceof Error && 'code' in error)) throw error; // of the network
        retried += 1;
      }
    }
  }

  let next = 0;
  let answered = 0;
  const failed: unknown[] = [];
  let stopped: Promise<void> | undefined;
  await Promise.all(
    Array.from({ length: 2 * CONVERSATIONS }, async () => {
      while (next < CALLS) {
        const answer = await call(next++);
        answered += 1;
        if (answered === CALLS / 2) stopped = replicas[0].stop();
        if (!JSON.stringify(answer).includes('ran browser_type')) failed.push(answer);
      }
    }),
  );
  await stopped;
  expect(failed).toEqual([]);
  const ran = gateway.ran.map(({ args }) => Number(args.n)).sort((a, b) => a - b);
  expect(ran).toEqual(Array.from({ length: CALLS }, (_, n) => n));
  expect(retried).toBeGreaterThan(0); // the replica was in use when it stopped
  expect(new Set(gateway.ran.map(({ runner }) => runner)).size).toBe(CONVERSATIONS);
});

it('lets a call run on while its replica stops, for half a minute, and then says that it was broken off', async () => {
  await using gateway = await startGateway();
  const clock = movableClock();
  const stack = await gateway.replica({}, clock);
  const client = await gatewayClient(stack, await gateway.issuer.token('ada'));
  const held = client.callTool({ name: HOLD, arguments: { of: 'ada', sessionId: 'c' } });
  await eventually('the call to run', () => gateway.ran.length === 1);
  const stopped = stack.stop();
  await eventually('the replica to listen no more', () =>
    fetch(stack.url).then(
      () => false,
      () => true,
    ),
  );
  clock.advance(29_000);
  const first = await Promise.race([held, new Promise(resolve => setImmediate(resolve, 'runs on'))]);
  expect(first).toBe('runs on');
  clock.advance(2_000);
  expect(textOf(await held)).toContain('call_interrupted');
  await stopped;
  await eventually('its cancellation at the runner', () => gateway.cancelled.includes('ada'));
  await client.close();
});

it('cancels a call of another replica for a client of 2025, whose message names no conversation', async () => {
  await using gateway = await startGateway();
  const [one, two] = [await gateway.replica(), await gateway.replica()];
  const token = await gateway.issuer.token('ada');
  const client = await gatewayClient(one, token, 'legacy');
  const sessionId = (client.transport as { sessionId?: string }).sessionId ?? ''; // of Streamable HTTP
  expect(sessionId).toMatch(/^[0-9a-f-]{36}$/);
  const held = client.callTool({ name: HOLD, arguments: { of: 'ada', sessionId: 'c' } });
  await eventually('the call to run', () => gateway.ran.length === 1);
  const cancel = (user: string, requestId: number) =>
    gateway.issuer.token(user).then(bearer =>
      asIngress(HOST)(`${two.url}/mcp`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          authorization: `Bearer ${bearer}`,
          'mcp-session-id': sessionId,
          'mcp-protocol-version': '2025-11-25',
        },
        body: JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } }),
      }),
    );
  for (let id = 0; id < 4; id++) expect((await cancel('bob', id)).status).toBe(202); // another user, the same names
  expect(gateway.cancelled).toEqual([]);
  for (let id = 0; id < 4; id++) await cancel('ada', id);
  expect(textOf(await held)).toContain(`ran ${HOLD}`);
  expect(gateway.cancelled).toEqual(['ada']);
  await client.close();
});
