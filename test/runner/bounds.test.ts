import { readdirSync, statSync } from 'node:fs';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { ENV } from '../../contract/names.ts';
import { readProcessTree } from '../../process/process-tree.ts';
import { killGroup } from '../../runner/browser/browser.ts';
import { runnerTempDir } from '../../runner/browser/temp-dir.ts';
import { eventually } from '../eventually.ts';
import { type FakeController, startFakeController } from '../fakes/controller.ts';
import { callText, connect, type RunnerProcess, startRunner } from './start.ts';

const MIB = 1024 * 1024;
const MEMORY_MB = 700;
/** A test whose browser passes this is ended: the machine is not what is tested. */
const GUARD_BYTES = 1_800 * MIB;

/** What each hostile page does, from 100 ms after it was loaded. */
const ATTACKS: Readonly<Record<string, string>> = {
  console: `for (let i = 0; ; i++) console.log('line ' + i + ' '.repeat(200))`,
  'console-large': `const s = 'x'.repeat(1e6); setInterval(() => { for (let i = 0; i < 100; i++) console.log(s) }, 0)`,
  'console-objects': `setInterval(() => { for (let i = 0; i < 5000; i++) console.log({ a: [1, 2], i }, document.body) }, 0)`,
  'console-frame': `const f = document.createElement('iframe'); f.srcdoc = '<script>for (let i = 0; ; i++) console.log("line " + i)<' + '/script>'; document.body.append(f)`,
  'console-worker': `for (let n = 0; n < 2; n++) new Worker(URL.createObjectURL(new Blob(['for (let i = 0; ; i++) console.log("line " + i)'])))`,
  rejections: `setInterval(() => { for (let i = 0; i < 5000; i++) Promise.reject(new Error('x' + i)) }, 0)`,
  requests: `setInterval(() => { for (let i = 0; i < 2000; i++) fetch('/x?' + Math.random()).catch(() => {}) }, 0)`,
  history: `let i = 0; setInterval(() => { for (let k = 0; k < 2000; k++) try { location.hash = 'h' + i++ } catch {} }, 0)`,
  buffers: `const kept = []; setInterval(() => { kept.push(new Uint8Array(2e7).fill(1)) }, 20)`,
  nodes: `setInterval(() => { for (let i = 0; i < 100000; i++) document.body.append(document.createElement('div')) }, 0)`,
  blobs: `const kept = []; setInterval(() => { kept.push(new Blob([new Uint8Array(1e7)])) }, 20)`,
  database: `const r = indexedDB.open('a', 1); r.onupgradeneeded = () => r.result.createObjectStore('s', { autoIncrement: true });
    r.onsuccess = () => setInterval(() => { const u = new Uint8Array(5e6); for (let i = 0; i < 5e6; i += 60000) crypto.getRandomValues(u.subarray(i, i + 60000));
      r.result.transaction('s', 'readwrite').objectStore('s').add(u) }, 20)`,
};

let server: Server;
let site: string;
let controller: FakeController;
let runner: RunnerProcess;
let client: Client;
let peakBytes = 0;
let watching: NodeJS.Timeout;

beforeAll(async () => {
  server = createServer(serveSite).listen(0, '127.0.0.1');
  controller = await startFakeController();
  site = `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // a TCP server has one
});
afterAll(async () => {
  await controller.close();
  server.closeAllConnections();
  server.close();
});
beforeEach(async () => {
  runner = await startRunner(controller, {
    [ENV.browserMemoryMb]: String(MEMORY_MB),
    [ENV.downloadMb]: '20',
    [ENV.downloadsMax]: '3',
  });
  const { token, mcpToken } = await controller.assignment(runner);
  await runner.post('/assign', { token });
  client = await connect(runner.url, mcpToken);
  peakBytes = 0;
  watching = setInterval(() => void look(), 200);
});
afterEach(async () => {
  clearInterval(watching);
  await client.close();
  await runner.dispose();
});

async function look(): Promise<void> {
  const own = runner.browserPid();
  const of = async (pid: number) => (await readProcessTree(pid)).reduce((total, { bytes }) => total + bytes, 0);
  const total = await of(runner.child.pid ?? 0);
  peakBytes = Math.max(peakBytes, total);
  if (total > GUARD_BYTES) killGroup(own);
}

function serveSite(request: { url?: string }, response: ServerResponse): void {
  const { pathname } = new URL(request.url ?? '/', site);
  const attack = ATTACKS[pathname.slice(1)];
  if (pathname === '/endless') {
    endless(response);
    return;
  }
  if (pathname === '/file') {
    response.writeHead(200, { 'content-disposition': 'attachment' }).end('file');
    return;
  }
  const script = attack ?? (pathname === '/long' ? 'window.long = true' : '');
  const html = `<!doctype html><title>Page</title><h1>Shop</h1><script>setTimeout(() => { ${script} }, 100)</script>`;
  response.writeHead(200, { 'content-type': 'text/html' }).end(html);
}

/** An attachment without an end. */
function endless(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-disposition': 'attachment' });
  const chunk = Buffer.alloc(MIB, 1);
  const more = () => {
    while (!response.destroyed && response.write(chunk)) {
      // until its buffer is full
    }
  };
  response.on('drain', more);
  more();
}

/** Calls a harmless tool until a result says so. */
const browserBytes = async () =>
  (await readProcessTree(runner.browserPid())).reduce((total, { bytes }) => total + bytes, 0);

const told = (words: RegExp) =>
  eventually(
    `a result with ${words}`,
    async () => {
      const text = await callText(client, 'browser_tabs', { action: 'list' });
      if (!words.test(text)) throw new Error(`the last result is: ${text.slice(0, 300)}`);
      return text;
    },
    60_000,
  );

async function expectServed(): Promise<void> {
  const text = await callText(client, 'browser_navigate', { url: `${site}/` });
  expect(text).toContain('Shop');
  expect((await runner.health()).body.phase).toBe('leased');
}

/** On a slow machine a page that does not answer is freed, as any such page, before it was too much. */
const FREED = /A script that did not end was stopped|did not answer and was closed/;
const ENDED = new RegExp(`was closed: |${FREED.source}`);

test.each(Object.keys(ATTACKS))(
  'a page that floods with %s is closed with an explanation and an event, or freed, and the lease lives on',
  { timeout: 120_000 },
  async attack => {
    const first = await callText(client, 'browser_navigate', { url: `${site}/${attack}` });
    const text = ENDED.test(first) ? first : await told(ENDED);
    await expectServed();
    await eventually('memory that was given back', async () => (await browserBytes()) < 250 * MIB);
    if (!FREED.test(text)) {
      expect(text).toContain(`The tab of ${site} was closed: `);
      const event = await eventually('the event', () => controller.events.find(({ kind }) => kind === 'page.closed'));
      expect(event.data).toMatchObject({ url: site });
    }
    expect(peakBytes).toBeLessThan(1_400 * MIB);
  },
);

/** Bytes of the files below a folder. */
const bytesIn = (folder: string): number =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .reduce((total, { parentPath, name }) => total + statSync(join(parentPath, name)).size, 0);

const STARTERS = {
  'a link': `const a = document.createElement('a'); a.href = '/endless'; a.download = 'x'; a.click()`,
  'a navigation': `location.href = '/endless'`,
  'a frame': `const f = document.createElement('iframe'); f.src = '/endless'; document.body.append(f)`,
  'a popup': `window.open('/endless')`,
  'a form': `const f = document.createElement('form'); f.action = '/endless'; document.body.append(f); f.submit()`,
  'a blob': `const a = document.createElement('a'); a.href = URL.createObjectURL(new Blob([new Uint8Array(3e7)])); a.download = 'x'; a.click()`,
};

test.each(Object.entries(STARTERS))(
  'a download without an end that %s started is cancelled, with an explanation and an event',
  async (_, script) => {
    await callText(client, 'browser_navigate', { url: `${site}/` });
    const first = await callText(client, 'browser_evaluate', { function: `() => { ${script} }` });
    const text = first.includes('was cancelled: ') ? first : await told(/was cancelled: /);
    expect(text).toContain('was cancelled: a file may have at most 20 MiB.');
    await expectServed();
    const event = await eventually('the event', () =>
      controller.events.find(({ kind }) => kind === 'download.cancelled'),
    );
    expect(event.data).toMatchObject({ reason: 'a file may have at most 20 MiB' });
    await eventually('the file to go', () => bytesIn(runnerTempDir(runner.runnerId)) < 10 * MIB);
  },
);

test('a page that downloads file after file gets as many as the setting says', async () => {
  await callText(client, 'browser_navigate', { url: `${site}/` });
  const script = `for (let i = 0; i < 40; i++) setTimeout(() => {
    const a = document.createElement('a'); a.href = '/file?' + i; a.download = 'f' + i; a.click(); }, i * 100)`;
  const first = await callText(client, 'browser_evaluate', { function: `() => { ${script} }` });
  const text = first.includes('was cancelled: ') ? first : await told(/was cancelled: /);
  expect(text).toContain('this lease has had its 3 downloads');
  await expectServed();
  // What is begun while the browser is told so may still end: small files are quicker than that.
  expect(readdirSync(join(runnerTempDir(runner.runnerId), 'downloads')).length).toBeLessThan(12);
});
