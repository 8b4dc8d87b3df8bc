import { chmodSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { launchBrowser, type RunnerBrowser } from '../../runner/browser.ts';
import { type EgressForwarder, egressForwarder } from '../../runner/egress.ts';
import { testCertificate } from '../site/certificate.ts';
import { PUBLIC_ADDRESS } from './sites.ts';
import { SSRF_VECTORS, SSRF_ZONE, vectorUrl } from './ssrf-vectors.ts';
import { type World, world } from './world.ts';

const CHROMIUM =
  ['/usr/lib/chromium/chromium-headless-shell', '/usr/bin/chromium'].find(path => existsSync(path)) ?? 'chromium';

/** Fetches what it is told, in the background and as the answer to a page's own request. */
const WORKER = `
  const SETTLE_MS = 2000;
  const get = url => fetch(url, { mode: 'no-cors', signal: AbortSignal.timeout(SETTLE_MS) });
  self.addEventListener('install', () => self.skipWaiting());
  self.addEventListener('activate', event => event.waitUntil(self.clients.claim()));
  self.addEventListener('fetch', event => {
    const to = new URL(event.request.url).searchParams.get('instead');
    if (to !== null) event.respondWith(get(to).catch(() => new Response('refused')));
  });
  self.addEventListener('message', event =>
    event.waitUntil(Promise.allSettled(event.data.map(get)).then(() => event.source.postMessage('tried'))));
`;

let w: World;
let site: Server;
let port: number;
let forwarder: EgressForwarder;
let browser: RunnerBrowser;
let page: Page;
const asked: string[] = [];
const refused: string[] = [];
const folder = mkdtempSync(join(tmpdir(), 'egress-worker-'));

beforeAll(async () => {
  chmodSync(folder, 0o755); // as root the browser runs as another user
  const { key, cert, spki } = testCertificate('site.test');
  site = createServer({ key, cert }, (request, response) => {
    asked.push(request.url ?? '');
    const type = request.url === '/worker.js' ? 'text/javascript' : 'text/html';
    response.writeHead(200, { 'content-type': type }).end(request.url === '/worker.js' ? WORKER : '<h1>site</h1>');
  });
  await new Promise<void>(done => site.listen(0, PUBLIC_ADDRESS, done));
  port = (site.address() as AddressInfo).port; // a TCP server has one
  w = await world(SSRF_ZONE, { OMICRON_EGRESS_CONNECTIONS_PER_LEASE: '5000' });
  const lease = w.lease({ ports: [port, w.trap.port, 80, 443] });
  forwarder = await egressForwarder({
    egressUrl: `http://127.0.0.1:${w.egress.port}`,
    onRefusal: ({ code }) => refused.push(code),
  });
  browser = await launchBrowser({
    executable: CHROMIUM,
    sandbox: true,
    tempDir: folder,
    egressUrl: forwarder.proxyUrl,
    trustedSpki: spki, // service workers exist on https alone
    searchPath: process.env.PATH ?? '',
  });
  forwarder.lease(lease);
  page = await browser.context.newPage();
  await page.goto(`https://site.test:${port}/`);
  await page.addScriptTag({ path: join(import.meta.dirname, 'worker-page.js') });
  await page.evaluate('register()');
});
afterAll(async () => {
  await browser?.close();
  await forwarder?.close();
  await w?.close();
  site?.close();
  site?.closeAllConnections();
  rmSync(folder, { recursive: true, force: true });
});

/** https: a worker's plain http is refused as mixed content before anybody else is asked. */
const vectors = () => [
  ...new Set(
    SSRF_VECTORS.map(vector => vectorUrl(vector, w.trap.port).replace(/^http:/i, 'https:'))
      .filter(url => URL.canParse(url))
      .map(url => new URL(url).href),
  ),
];

describe('a service worker behind the forwarder and the proxy', { timeout: 300_000 }, () => {
  it.each([
    ['in the background', 'inBackground'],
    ["as the answer to its page's request", 'instead'],
  ])('reaches the public site, and no internal place, %s', async (_, way) => {
    const attempt = (urls: readonly string[]) => page.evaluate(`${way}(${JSON.stringify(urls)})`);
    const control = `/control-${way}`;
    await attempt([`https://site.test:${port}${control}`]);
    expect(asked).toContain(control); // the way works
    const before = refused.length;
    const urls = vectors();
    for (let i = 0; i < urls.length; i += 40) await attempt(urls.slice(i, i + 40));
    expect(w.trap.hits).toEqual([]);
    expect(refused.length - before).toBeGreaterThan(urls.length * 0.8);
  });

  it('was refused by judgement each time, never because a connection failed', () => {
    expect([...new Set(refused)].sort()).toEqual(['internal_address', 'internal_name', 'mixed_addresses']);
  });
});
