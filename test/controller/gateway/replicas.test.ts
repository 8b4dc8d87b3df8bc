import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { expect, it } from 'vitest';
import { eventually } from '../../eventually.ts';
import { movableClock } from '../../fakes/movable-clock.ts';
import { someUser } from '../stack.ts';
import { asIngress } from './as-ingress.ts';
import { gatewayClient, HOLD, HOST, type RanCall, startGateway, textOf } from './gateway.ts';

const CALLS = 2_000;
const CALLS_WHEN_KILLED = 500;
const CONVERSATIONS = 8;
const CALLERS = 2 * CONVERSATIONS;

interface Sent {
  /** Answers that are no result of the tool. */
  readonly failed: unknown[];
  /** Calls whose connection broke, and that were not sent again. */
  readonly lost: number[];
  /** How often a call was sent again. */
  readonly retried: number;
}

/**
 * Sends calls to two addresses of the gateway in turn, as a client does that knows both; one that `mayRepeat` after an error of the
 * network goes to the other. `atHalf` runs once, when half of them were answered.
 */
async function sendCalls(
  count: number,
  addresses: readonly [string, string],
  token: string,
  { mayRepeat, atHalf }: { mayRepeat: (code: string) => boolean; atHalf: () => void },
): Promise<Sent> {
  const failed: unknown[] = [];
  const lost: number[] = [];
  let retried = 0;
  let next = 0;
  let answered = 0;

  async function call(n: number): Promise<unknown> {
    for (let attempt = n; ; attempt++) {
      try {
        const answer = await asIngress(HOST)(`${addresses[attempt % 2]}/mcp`, {
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
        if (!(error instanceof Error)) throw error;
        const { code } = (error.cause ?? error) as NodeJS.ErrnoException; // a body that breaks off has its cause
        if (code === undefined) throw error; // not of the network
        if (!mayRepeat(code)) return undefined;
        retried += 1;
      }
    }
  }

  await Promise.all(
    Array.from({ length: CALLERS }, async () => {
      while (next < count) {
        const n = next++;
        const answer = await call(n);
        answered += 1;
        if (answered === count / 2) atHalf();
        if (answer === undefined) lost.push(n);
        else if (!JSON.stringify(answer).includes('ran browser_type')) failed.push(answer);
      }
    }),
  );
  return { failed, lost, retried };
}

const numbersOf = (ran: readonly RanCall[]): number[] => ran.map(({ args }) => Number(args.n)).sort((a, b) => a - b);
const upTo = (count: number): number[] => Array.from({ length: count }, (_, n) => n);

it(`[M7] loses none of ${CALLS} calls when a replica stops, and runs none of them twice`, {
  timeout: 300_000,
}, async () => {
  await using gateway = await startGateway({ OMICRON_USER_LIMIT: CONVERSATIONS });
  const [one, two] = [await gateway.replica(), await gateway.replica()];
  let stopped: Promise<void> | undefined;
  const { failed, retried } = await sendCalls(CALLS, [one.url, two.url], await gateway.issuer.token(someUser()), {
    mayRepeat: () => true,
    atHalf() {
      stopped = one.stop();
    },
  });
  await stopped;
  expect(failed).toEqual([]);
  expect(numbersOf(gateway.ran)).toEqual(upTo(CALLS));
  expect(retried).toBeGreaterThan(0); // the replica was in use when it stopped
  expect(new Set(gateway.ran.map(({ runner }) => runner)).size).toBe(CONVERSATIONS);
});

it('a replica that is killed takes along the calls that it was passing on, no other; none runs twice, and the browsers stay', {
  timeout: 120_000,
}, async () => {
  await using gateway = await startGateway({ OMICRON_USER_LIMIT: CONVERSATIONS });
  await using front = await frontOf((await gateway.replica()).url);
  const other = await gateway.replica();
  const { failed, lost, retried } = await sendCalls(
    CALLS_WHEN_KILLED,
    [front.url, other.url],
    await gateway.issuer.token(someUser()),
    // one that was sent may have run: a client must not send it again
    { mayRepeat: code => code === 'ECONNREFUSED', atHalf: front.kill },
  );
  expect(failed).toEqual([]);
  expect(lost.length).toBeLessThanOrEqual(CALLERS);
  expect(retried).toBeGreaterThan(0);
  const ran = numbersOf(gateway.ran);
  expect(new Set(ran).size).toBe(ran.length);
  expect([...new Set([...ran, ...lost])].sort((a, b) => a - b)).toEqual(upTo(CALLS_WHEN_KILLED));
  expect(new Set(gateway.ran.map(({ runner }) => runner)).size).toBe(CONVERSATIONS);
});

/** An address of a replica. After `kill` it is as if the replica's process had been killed: every connection breaks, and it takes no more. */
async function frontOf(url: string) {
  const { hostname, port } = new URL(url);
  const sockets = new Set<Socket>();
  const server = createServer(client => {
    const replica = connect(Number(port), hostname);
    for (const [socket, peer] of [
      [client, replica],
      [replica, client],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => {}).on('close', () => peer.destroy());
      socket.pipe(peer);
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const kill = () => {
    server.close();
    for (const socket of sockets) socket.resetAndDestroy();
  };
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, // it listens on TCP
    kill,
    [Symbol.asyncDispose]: async () => kill(),
  };
}

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

/** As a client of 2025-11-25 sends it that names itself so. */
const messageOf2025 = (url: string, token: string, client: string, message: object): Promise<Response> =>
  asIngress(HOST)(`${url}/mcp`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      authorization: `Bearer ${token}`,
      'mcp-session-id': client,
      'mcp-protocol-version': '2025-11-25',
    },
    body: JSON.stringify({ jsonrpc: '2.0', ...message }),
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
  const cancel = async (user: string, requestId: number) =>
    messageOf2025(two.url, await gateway.issuer.token(user), sessionId, {
      method: 'notifications/cancelled',
      params: { requestId },
    });
  for (let id = 0; id < 4; id++) expect((await cancel('bob', id)).status).toBe(202); // another user, the same names
  expect(gateway.cancelled).toEqual([]);
  for (let id = 0; id < 4; id++) await cancel('ada', id);
  expect(textOf(await held)).toContain(`ran ${HOLD}`);
  expect(gateway.cancelled).toEqual(['ada']);
  await client.close();
});

it.each([
  ['the replica that leases', 0],
  ['another replica', 1],
])('does not begin a call that a client of 2025 cancels at %s while its browser is leased', async (_where, heardBy) => {
  await using gateway = await startGateway();
  const replicas = [await gateway.replica(), await gateway.replica()] as const;
  const [stack] = replicas;
  const letGo = gateway.shared.machine.hold('redeem');
  const token = await gateway.issuer.token('ada');
  const post = (body: object, at = stack) => messageOf2025(at.url, token, 'agent', body);
  const call = (id: string | number) => post({ id, method: 'tools/call', params: { name: 'browser_click' } });
  const calls = [call(1), call('1')];
  await eventually('both to wait for the browser', async () => {
    const { body } = await stack.call('GET', '/internal/browser-sessions?user_id=ada');
    return (body as { sessions: { status: string }[] }).sessions[0]?.status === 'starting';
  });
  const cancelled = await post({ method: 'notifications/cancelled', params: { requestId: 1 } }, replicas[heardBy]);
  expect(cancelled.status).toBe(202);
  letGo();
  const [first, second] = await Promise.all(calls.map(each => each.then(answer => answer.text())));
  expect(first).toContain('call_cancelled');
  expect(second).toContain('ran browser_click');
  expect(gateway.ran).toHaveLength(1);
});
