import { EventEmitter } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { type Console, startConsole } from '../../console/server/console.ts';
import { polledView } from '../../console/server/polled-view.ts';
import { LIVE_PROTOCOL, liveTokenProtocol } from '../../contract/live-limits.ts';
import { freePort } from '../../local/free-port.ts';
import { eventually } from '../eventually.ts';

const MIB = 1024 * 1024;
/** More than the console and both connections hold. */
const MUCH = 64;

let server: Server;
let runners: WebSocketServer;
let console: Console;
/** The runner's end of the newest live view. */
let runner: WebSocket;

beforeAll(async () => {
  server = createServer();
  runners = new WebSocketServer({ server, perMessageDeflate: false });
  runners.on('connection', socket => {
    runner = socket;
    socket.send('{}');
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  console = await startConsole({
    url: `http://127.0.0.1:${await freePort()}`,
    controllerUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ...{ serviceSecret: 'x'.repeat(32), log: pino({ level: 'silent' }) },
  });
});
afterAll(async () => {
  await console?.stop();
  runners?.close();
  server?.closeAllConnections();
  server?.close();
});

async function view(): Promise<WebSocket> {
  const viewer = new WebSocket(
    `${console.url.replace('http', 'ws')}/api/browser-sessions/${crypto.randomUUID()}/live`,
    [LIVE_PROTOCOL, liveTokenProtocol('a.b.c')],
    { headers: { origin: console.url }, perMessageDeflate: false },
  );
  await new Promise(resolve => viewer.once('message', resolve));
  return viewer;
}

/** Sends `MUCH` messages; the returned function says how many of them have left. */
function send(from: WebSocket): () => number {
  let left = 0;
  for (let each = 0; each < MUCH; each += 1) from.send(Buffer.alloc(MIB), () => (left += 1));
  return () => left;
}

/** Passes as much through a view whose ends read: another one would have passed it on by then. */
async function passElsewhere(): Promise<void> {
  const viewer = await view();
  let arrived = 0;
  viewer.on('message', () => (arrived += 1));
  send(runner);
  await eventually('all of them elsewhere', () => arrived === MUCH);
  viewer.terminate();
}

it.each(['viewer', 'runner'] as const)(
  'where the %s does not read, the other end waits, and all arrives once it does',
  async slow => {
    const viewer = await view();
    const [from, to] = slow === 'viewer' ? [runner, viewer] : [viewer, runner];
    let arrived = 0;
    to.on('message', () => (arrived += 1));
    to.pause();
    const left = send(from);
    await passElsewhere();
    expect(left()).toBeLessThan(MUCH / 2);
    to.resume();
    await eventually('all of them', () => arrived === MUCH);
    viewer.terminate();
  },
);

it('the runner waits while no page asks for the messages of a view by requests', async () => {
  const socket = Object.assign(new EventEmitter(), { isPaused: false, readyState: WebSocket.OPEN });
  const view = polledView(
    Object.assign(socket, {
      pause: () => Object.assign(socket, { isPaused: true }),
      resume: () => Object.assign(socket, { isPaused: false }),
    }) as unknown as WebSocket, // all that is asked of it
  );
  let told = 0;
  while (!socket.isPaused && told < 1_000) {
    told += 1;
    socket.emit('message', JSON.stringify({ t: 'clip', text: 'rye' }), false);
  }
  expect(told).toBeLessThan(1_000);
  view.say(
    1,
    Array.from({ length: 200 }, () => ({ t: 'wheel', x: 0, y: 0, dx: 0, dy: 1, modifiers: 0 })),
  );
  const { messages, next } = await view.news(0, -1, AbortSignal.abort());
  expect(messages).toHaveLength(told);
  await view.news(next, -1, AbortSignal.abort());
  expect(socket.isPaused).toBe(false);
});
