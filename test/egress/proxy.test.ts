import type { Socket } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { get, isAnswer, tunnel, untilClosed, upgrade } from './raw-client.ts';
import { type World, world } from './world.ts';

let w: World;
beforeAll(async () => {
  w = await world({});
});
afterAll(() => w.close());

const open = async (auth: string, authority: string, early = ''): Promise<Socket> => {
  const outcome = await tunnel(w.egress.port, auth, authority, early);
  if (isAnswer(outcome)) throw new Error(`refused: ${outcome.refusal}`);
  return outcome;
};

it('passes a plain request on and gives the answer of the site', async () => {
  const lease = w.lease();
  const answer = await get(w.egress.port, lease.auth, `http://site.test:${w.site.port}/a/b?c=d`);
  expect(answer).toMatchObject({ status: 200, body: 'GET /a/b?c=d', refusal: undefined });
});

it('carries a tunnel, early bytes included, and half-closes it', async () => {
  const lease = w.lease();
  const socket = await open(
    lease.auth,
    `site.test:${w.site.port}`,
    'GET /through HTTP/1.1\r\nHost: s\r\nConnection: close\r\n\r\n',
  );
  socket.end();
  expect(await untilClosed(socket)).toContain('GET /through');
});

it('carries a websocket asked for in absolute form', async () => {
  const lease = w.lease();
  const answer = upgrade(w.egress.port, lease.auth, `http://site.test:${w.site.port}/socket`);
  lease.end();
  expect(await answer).toMatchObject({ status: 101 });
});
