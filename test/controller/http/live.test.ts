import { randomUUID } from 'node:crypto';
import { request } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { liveTokenAnswer } from '../../../contract/live.ts';
import { LIVE_PROTOCOL, liveTokenProtocol } from '../../../contract/live-limits.ts';
import { eventually } from '../../eventually.ts';
import { type Stack, someUser, startStack } from '../stack.ts';

let stack: Stack;
beforeAll(async () => {
  stack = await startStack();
});
afterAll(() => stack[Symbol.asyncDispose]());

const path = (id: string) => `/internal/browser-sessions/${id}`;
const tokenOf = async (id: string, body?: object) =>
  liveTokenAnswer.parse((await stack.call('POST', `${path(id)}/live-token`, body === undefined ? {} : { body })).body);

/** A socket of a live view; `null`: it was refused. */
async function open(id: string, token: string): Promise<WebSocket | null> {
  const url = `${stack.url.replace('http', 'ws')}${path(id)}/live`;
  const socket = new WebSocket(url, [LIVE_PROTOCOL, liveTokenProtocol(token)]);
  const { promise, resolve } = Promise.withResolvers<WebSocket | null>();
  socket.addEventListener('open', () => resolve(socket));
  socket.addEventListener('error', () => resolve(null));
  return promise;
}

test('[N8] bytes pass between a viewer and the runner, whole and in order, and the end of the lease closes the socket', async () => {
  const lease = await stack.lease({ user_id: someUser() });
  const { token, role } = await tokenOf(lease.session_id);
  expect(role).toBe('view');
  const socket = await open(lease.session_id, token);
  expect(socket?.protocol).toBe(LIVE_PROTOCOL);
  const heard: string[] = [];
  let code: number | undefined;
  socket?.addEventListener('message', ({ data }) => heard.push(String(data)));
  socket?.addEventListener('close', event => {
    code = event.code;
  });
  const said = Array.from({ length: 50 }, (_, n) => `${n} ${'x'.repeat(n * 4_000)}`);
  for (const text of said) socket?.send(text);
  await eventually('all of it', () => heard.length === said.length);
  expect(heard).toEqual(said);
  await stack.call('DELETE', path(lease.session_id));
  expect(await eventually('the close', () => code)).toBe(4410);
});

test('a token opens the live view of its own lease only', async () => {
  const mine = await stack.lease({ user_id: someUser() });
  const other = await stack.lease({ user_id: someUser() });
  const { token } = await tokenOf(mine.session_id);
  expect(await open(other.session_id, token)).toBeNull();
  expect(await open(mine.session_id, `${token}x`)).toBeNull();
  expect(await open(randomUUID(), token)).toBeNull();
  const socket = await open(mine.session_id, token);
  expect(socket).not.toBeNull();
  socket?.close();
});

test('a page of another origin opens nothing, but with its token what is there for pages in a chat', async () => {
  const lease = await stack.lease({ user_id: someUser() });
  const other = await stack.lease({ user_id: someUser() });
  /** The status with which the handshake of a page is answered. */
  async function handshake(at: string): Promise<number | undefined> {
    const { token } = await tokenOf(lease.session_id, { role: 'control', viewer: 'grace' });
    const headers = {
      ...{
        connection: 'Upgrade',
        upgrade: 'websocket',
        'sec-websocket-version': '13',
        'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
      },
      ...{ 'sec-websocket-protocol': `${LIVE_PROTOCOL}, ${liveTokenProtocol(token)}`, origin: 'https://evil.example' },
    };
    const { promise, resolve } = Promise.withResolvers<number | undefined>();
    request(`${stack.url}${at}`, { headers })
      .on('response', response => resolve(response.resume().statusCode))
      .on('upgrade', (_response, socket) => {
        resolve(101);
        socket.destroy();
      })
      .end();
    return promise;
  }
  expect(await handshake(`${path(lease.session_id)}/live`)).toBe(403);
  expect(await handshake(`/live/${lease.session_id}`)).toBe(101);
  expect(await handshake(`/live/${other.session_id}`)).toBe(401);
  expect(await handshake(`/live/${randomUUID()}`)).toBe(404);
});

test('tokens are given to who may see the session, while its browser runs', async () => {
  const user = someUser();
  const lease = await stack.lease({ user_id: user });
  const ask = (as: string) => stack.call('POST', `${path(lease.session_id)}/live-token`, { user: as });
  expect((await ask(user)).status).toBe(200);
  expect((await ask(someUser())).body).toMatchObject({ code: 'session_not_found' });
  await stack.call('DELETE', path(lease.session_id));
  expect((await ask(user)).body).toMatchObject({ code: 'lease_ended' });
});
