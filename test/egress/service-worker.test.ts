import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { testCertificate } from '../site/certificate.ts';
import { type ProxiedBrowser, proxiedBrowser } from './proxied-browser.ts';
import { type ProxyNetwork, proxyNetwork } from './proxy-network.ts';
import { PUBLIC_ADDRESS } from './sites.ts';
import { SSRF_VECTORS, SSRF_ZONE, vectorUrl } from './ssrf-vectors.ts';

/** Fetches what it is asked for, in the background and as the answer to a page's own request. */
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

let network: ProxyNetwork;
let site: Server;
let port: number;
let chromium: ProxiedBrowser;
let page: Page;
const asked: string[] = [];

beforeAll(async () => {
  const { key, cert, spki } = testCertificate('site.test');
  site = createServer({ key, cert }, (request, response) => {
    asked.push(request.url ?? '');
    const type = request.url === '/worker.js' ? 'text/javascript' : 'text/html';
    response.writeHead(200, { 'content-type': type }).end(request.url === '/worker.js' ? WORKER : '<h1>site</h1>');
  });
  await new Promise<void>(done => site.listen(0, PUBLIC_ADDRESS, done));
  port = (site.address() as AddressInfo).port; // a TCP server has one
  network = await proxyNetwork(SSRF_ZONE, {
    OMICRON_EGRESS_CONNECTIONS_PER_LEASE: '5000',
    OMICRON_EGRESS_DNS_SECONDS: '10', // hundreds of lookups at once
  });
  // Service workers exist on https alone.
  chromium = await proxiedBrowser(network, network.lease({ ports: [port, network.trap.port, 80, 443] }), spki);
  page = await chromium.browser.context.newPage();
  await page.goto(`https://site.test:${port}/`);
  await page.addScriptTag({ path: join(import.meta.dirname, 'worker-page.js') });
  await page.evaluate('register()');
});
afterAll(async () => {
  await chromium?.close();
  await network?.close();
  site?.close();
  site?.closeAllConnections();
});

/** https: a worker's plain http is refused as mixed content before it reaches the proxy. */
const vectors = () => [
  ...new Set(
    SSRF_VECTORS.map(vector => vectorUrl(vector, network.trap.port).replace(/^http:/i, 'https:'))
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
    const before = chromium.refusals.length;
    const urls = vectors();
    for (let i = 0; i < urls.length; i += 40) await attempt(urls.slice(i, i + 40));
    expect(network.trap.hits).toEqual([]);
    expect(chromium.refusals.length - before).toBeGreaterThan(urls.length * 0.8);
  });

  it('was refused by judgement each time, never because a connection failed', () => {
    expect([...new Set(chromium.refusals.map(({ code }) => code))].sort()).toEqual([
      'internal_address',
      'internal_name',
      'mixed_addresses',
    ]);
  });
});
