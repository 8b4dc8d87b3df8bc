import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { ENV } from '../../contract/names.ts';
import { eventually } from '../eventually.ts';
import { type FakeController, startFakeController } from '../fakes/controller.ts';
import { callText, connect, type RunnerProcess, startRunner } from './start.ts';

interface Attack {
  /** What the page does, from 100 ms after it was loaded. */
  readonly script: string;
  /** What a result says of the page, sooner or later; undefined: it takes nothing that has to be stopped. */
  readonly told?: string;
}

const worker = (code: string) => `URL.createObjectURL(new Blob([${JSON.stringify(code)}]))`;
const flood = `for (let i = 0; ; i++) console.log('line ' + i)`;
const download = (href: string) =>
  `const a = document.createElement('a'); a.href = ${href}; a.download = 'x'; setInterval(() => a.click(), 10)`;

const CLOSED = 'was closed';
const ATTACKS: Readonly<Record<string, Attack>> = {
  'console of shared workers': {
    script: `for (let n = 0; n < 2; n++) new SharedWorker(${worker(flood)}, 'n' + n)`,
  },
  'console of a frame of another site': {
    script: `const f = document.createElement('iframe'); f.src = location.origin.replace('127.0.0.1', 'localhost') + '/flood'; document.body.append(f)`,
    told: CLOSED,
  },
  'one line of the console that is 200 MB long, again and again': {
    script: `const s = 'x'.repeat(2e8); setInterval(() => console.log(s), 0)`,
    told: CLOSED,
  },
  popups: {
    script: `setInterval(() => { for (let i = 0; i < 20; i++) window.open('/?' + i) }, 20)`,
    told: CLOSED,
  },
  'popups without an opener': {
    script: `setInterval(() => { for (let i = 0; i < 20; i++) window.open('/?' + i, '_blank', 'noopener') }, 20)`,
    told: CLOSED,
  },
  'frames of a web socket': {
    script: `const w = new WebSocket('ws://' + location.host + '/'), s = 'x'.repeat(1e6); w.onopen = () => setInterval(() => { for (let i = 0; i < 20; i++) w.send(s) }, 0)`,
  },

  'document.write': { script: `for (;;) document.write('<p>text'.repeat(1000))`, told: CLOSED },
  '100,000 frames': {
    script: `for (let i = 0; i < 100000; i++) document.body.append(document.createElement('iframe'))`,
    told: CLOSED,
  },
  'alerts of 30 MB': { script: `const s = 'x'.repeat(3e7); for (;;) alert(s)` },
  alerts: { script: `for (;;) alert('x')` },
  'questions whether to leave': {
    script: `addEventListener('beforeunload', e => e.preventDefault()); setInterval(() => { location.search = Math.random() }, 50)`,
  },
  'file choosers': {
    script: `setInterval(() => { const i = document.createElement('input'); i.type = 'file'; i.click() }, 5)`,
    told: CLOSED,
  },
  'downloads of a blob': {
    script: download('URL.createObjectURL(new Blob([new Uint8Array(1e6)]))'),
    told: 'was cancelled: ',
  },
  'downloads of a data URL': { script: download(`'data:application/octet-stream,' + 'x'.repeat(1e6)`) },
  'a data URL of 100 MB': {
    script: `const f = document.createElement('iframe'), s = 'data:text/html,' + 'x'.repeat(1e8); f.src = s; document.body.append(f); fetch(s)`,
  },
  'request bodies': {
    script: `const body = 'x'.repeat(2e7); setInterval(() => fetch('/', { method: 'POST', body }).catch(() => {}), 30)`,
    told: CLOSED,
  },
  canvases: {
    script: `const all = []; setInterval(() => { const c = document.createElement('canvas'); c.width = c.height = 8000; c.getContext('2d').fillRect(0, 0, 8000, 8000); all.push(c) }, 20)`,
    told: CLOSED,
  },
  'history.pushState': {
    script: `let i = 0; setInterval(() => { for (let k = 0; k < 100; k++) try { history.pushState('x'.repeat(1e5), '', '/p' + i++) } catch {} }, 0)`,
  },
  'a title of 100 MB': { script: `document.title = 'x'.repeat(1e8)` },
  'an address of 2 MB': { script: `history.replaceState('', '', '/' + 'x'.repeat(2e6))` },
  'local storage': { script: `for (let i = 0; ; i++) localStorage.setItem('k' + i, 'x'.repeat(1e5))` },
  'a cache': {
    script: `caches.open('a').then(c => { let i = 0; setInterval(() => { const u = new Uint8Array(1e7).fill(i); c.put('/c' + i++, new Response(u)) }, 20) })`,
    told: CLOSED,
  },
};

/** Playwright keeps each request that is not answered, with its body; at 60 a second they are no flood. */
const KEPT_REQUESTS = `const body = 'x'.repeat(6e4);
  setInterval(() => fetch('/?unanswered', { method: 'POST', body }).catch(() => {}), 16)`;

let server: Server;
let site: string;
let controller: FakeController;
let runner: RunnerProcess;
let client: Client;

beforeAll(async () => {
  server = createServer(serveSite).on('upgrade', acceptSocket).listen(0, '127.0.0.1');
  controller = await startFakeController();
  site = `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // a TCP server has one
  runner = await startRunner(controller, {
    [ENV.browserMemoryMb]: '1200',
    [ENV.runnerMemoryMb]: '160',
    [ENV.downloadsMax]: '3',
  });
  const { token, mcpToken } = await controller.assignment(runner);
  await runner.post('/assign', { token });
  client = await connect(runner.url, mcpToken);
});
afterEach(() => callText(client, 'browser_close'));
afterAll(async () => {
  await client.close();
  await runner.dispose();
  await controller.close();
  server.closeAllConnections();
  server.close();
});

function serveSite(request: IncomingMessage, response: ServerResponse): void {
  request.resume();
  const { pathname, searchParams } = new URL(request.url ?? '/', site);
  if (searchParams.has('unanswered')) return;
  const attack = searchParams.has('kept') ? KEPT_REQUESTS : ATTACKS[searchParams.get('attack') ?? '']?.script;
  const script = pathname === '/flood' ? flood : attack;
  const html = `<!doctype html><title>Page</title><h1>Shop</h1><script>setTimeout(() => { ${script ?? ''} }, 100)</script>`;
  response.writeHead(200, { 'content-type': 'text/html' }).end(html);
}

/** Reads what a web socket sends, and forgets it. */
function acceptSocket({ headers }: IncomingMessage, socket: Duplex): void {
  const accept = createHash('sha1').update(`${headers['sec-websocket-key']}${WEB_SOCKET_GUID}`).digest('base64');
  const lines = ['HTTP/1.1 101 Switching Protocols', 'Upgrade: websocket', 'Connection: Upgrade'];
  socket.on('error', () => undefined).resume();
  socket.write([...lines, `Sec-WebSocket-Accept: ${accept}`, '', ''].join('\r\n'));
}
// https://datatracker.ietf.org/doc/html/rfc6455#section-1.3
const WEB_SOCKET_GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';

test.each(Object.entries(ATTACKS))(
  '%s: the lease lives on, and the next navigation is served',
  { timeout: 120_000 },
  async (attack, { told }) => {
    const results = [await callText(client, 'browser_navigate', { url: attackUrl(attack) })];
    if (told === undefined) await callText(client, 'browser_wait_for', { time: 1 });
    else
      await eventually(
        `a result with "${told}"`,
        async () => {
          results.push(await callText(client, 'browser_tabs', { action: 'list' }));
          return results.some(text => text.includes(told));
        },
        TOLD_MS,
      );
    await expectServed();
  },
);

/** A slow machine takes its time to exhaust itself. */
const TOLD_MS = 60_000;

/** A tab that dies under a navigation may cost that call; it says that the next one is served. */
async function expectServed(): Promise<void> {
  const navigate = () => callText(client, 'browser_navigate', { url: `${site}/` });
  const first = await navigate();
  expect(first.includes('The call was given up; the next one is served.') ? await navigate() : first).toContain('Shop');
  expect((await runner.health()).body.phase).toBe('leased');
}

const attackUrl = (attack: string) => `${site}/?${new URLSearchParams({ attack })}`;

test('a very long address is told by its origin, a very long title not at all, and neither costs the tab', async () => {
  const url = attackUrl('an address of 2 MB');
  const answers = [
    await callText(client, 'browser_navigate', { url }), // it may have moved already
    await callText(client, 'browser_wait_for', { time: 1 }),
  ].join('\n');
  expect(answers).toContain(`- Page URL: ${site}/… (an address of ${site.length + 2_000_001} characters)`);
  await callText(client, 'browser_evaluate', { function: `() => { document.title = 'x'.repeat(5e6) }` });
  const told = await callText(client, 'browser_tabs', { action: 'list' });
  expect(told).toContain('… (a title of more than 1000 characters)');
  expect(told).not.toContain('was closed');
});

test("a page that fills the runner's own memory is closed with an explanation and an event, and the lease lives on", {
  timeout: 120_000,
}, async () => {
  const told = 'was closed: it made the runner take';
  let answers = await callText(client, 'browser_navigate', { url: `${site}/?kept` }); // it may be told here already
  await eventually(
    `a result with "${told}"`,
    async () => {
      answers += await callText(client, 'browser_tabs', { action: 'list' });
      return answers.includes(told);
    },
    TOLD_MS,
  );
  await expectServed();
  const closed = await eventually('the event', () =>
    controller.events.find(({ data }) => String(data.reason).startsWith('it made the runner take')),
  );
  expect(closed).toMatchObject({ kind: 'page.closed', data: { url: site } });
});
