import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { siteRules } from '../../contract/policy/sites.ts';
import { eventually } from '../eventually.ts';
import { type ProxiedBrowser, proxiedBrowser } from './proxied-browser.ts';
import { type ProxyNetwork, proxyNetwork, type TestLease } from './proxy-network.ts';
import { SSRF_VECTORS, SSRF_ZONE, vectorUrl } from './ssrf-vectors.ts';

/** What a page can do to make a browser ask for an address (`attack-page.js`). */
const WAYS = [
  'fetch',
  'beacon',
  'image',
  'script',
  'iframe',
  'websocket',
  'event source',
  'prefetch',
  'form',
  'window.open',
  'download',
  'worker',
] as const;
type Way = (typeof WAYS)[number];
/** Ways that end in a document, each of a site and thus a process of its own. */
const OPENS_DOCUMENTS: readonly Way[] = ['iframe', 'form', 'window.open', 'download'];
/** At most this many at once, of pages, frames and threads. */
const ROUND_MAX: Partial<Record<Way, number>> = { iframe: 50, form: 50, 'window.open': 25, download: 25, worker: 60 };
/** Rounds of hundreds of pages, on machines that have other work. */
const ROUND_MS = 300_000;
const ARRIVAL_MS = 60_000;

let network: ProxyNetwork;
let lease: TestLease;
let chromium: ProxiedBrowser;
let page: Page;

beforeAll(async () => {
  network = await proxyNetwork(SSRF_ZONE, {
    OMICRON_EGRESS_CONNECTIONS_PER_LEASE: '5000',
    OMICRON_EGRESS_DNS_SECONDS: '10', // hundreds of lookups at once
  });
  lease = network.lease({ deny: ['denied.test'] });
  chromium = await proxiedBrowser(network, lease);
  await openPage();
});
afterAll(async () => {
  await chromium?.close();
  await network?.close();
});

/** Tries every URL in the given way from a page of the public site. */
const attempt = (way: Way, urls: readonly string[]) =>
  page.evaluate(`attempt(${JSON.stringify(way)}, ${JSON.stringify(urls)})`);

/** A page of the public site, with every way to try. */
async function openPage(): Promise<void> {
  page = await chromium.browser.context.newPage();
  await page.goto(`http://site.test:${network.site.port}/`);
  await page.addScriptTag({ path: join(import.meta.dirname, 'attack-page.js') });
}

/** Begins again with a page of its own, between rounds: pages that a vector opened pile up, and one may open only so many. */
async function clear(): Promise<void> {
  const before = chromium.browser.context.pages();
  await openPage();
  await Promise.all(before.map(other => other.close().catch(() => {})));
}

/** Resolves when the public site was asked for the path. */
const arrival = (path: string) =>
  eventually(`a request of ${path}`, () => network.site.requests.some(({ url }) => url === path), ARRIVAL_MS);
const hostOf = (url: string) => new URL(url).hostname;

/** What a browser takes for an address at all, as it is typed; `read` is what it makes of them, each once. */
const typed = () => SSRF_VECTORS.map(vector => vectorUrl(vector, network.trap.port)).filter(url => URL.canParse(url));
const read = () => [...new Set(typed().map(url => new URL(url).href))];

describe('[N6] Chromium behind the forwarder and the proxy', () => {
  it.each(WAYS)('can reach the public site by %s: the way works', async way => {
    const path = `/control-${way.replaceAll(/\W/g, '-')}`;
    await attempt(way, [`http://site.test:${network.site.port}${path}`]);
    await arrival(path);
    await clear();
  });

  it.each(WAYS)(
    'reaches no internal place by %s',
    async way => {
      // A spelling has become an address before a document is asked for: there each address is tried once.
      const urls = OPENS_DOCUMENTS.includes(way) ? read() : typed();
      const size = ROUND_MAX[way] ?? urls.length;
      for (let i = 0; i < urls.length; i += size) {
        const round = urls.slice(i, i + size);
        const before = chromium.refusals.length;
        const last = `/after-${way.replaceAll(/\W/g, '-')}-${i}`;
        await attempt(way, [...round, `http://site.test:${network.site.port}${last}`]);
        const notAsked = () => {
          const asked = new Set(chromium.refusals.slice(before).map(({ authority }) => hostOf(`http://${authority}`)));
          return [...new Set(round.map(hostOf))].filter(host => !asked.has(host));
        };
        await arrival(last);
        await expect.poll(notAsked, { timeout: ARRIVAL_MS }).toEqual([]);
        await clear();
      }
      expect(network.trap.hits).toEqual([]);
    },
    ROUND_MS,
  );

  it(
    'reaches no internal place by the address bar or behind a redirect',
    async () => {
      const redirect = (url: string) =>
        `http://site.test:${network.site.port}/redirect?status=307&to=${encodeURIComponent(url)}`;
      const queue = read().flatMap(url => [url, redirect(url)]);
      const before = chromium.refusals.length;
      const drive = async () => {
        const tab = await chromium.browser.context.newPage();
        for (let url = queue.pop(); url !== undefined; url = queue.pop())
          await tab.goto(url, { timeout: 5000, waitUntil: 'commit' }).catch(() => {});
        await tab.close();
      };
      await Promise.all([drive(), drive(), drive(), drive()]);
      expect(network.trap.hits).toEqual([]);
      expect(chromium.refusals.length - before).toBeGreaterThan(read().length * 1.7);
    },
    ROUND_MS,
  );

  it('was refused by judgement each time, never because a connection failed', () => {
    expect(chromium.refusals.length).toBeGreaterThan(read().length * WAYS.length * 0.8);
    expect([...new Set(chromium.refusals.map(({ code }) => code))].sort()).toEqual([
      'internal_address',
      'internal_name',
      'mixed_addresses',
    ]);
    expect(network.trap.hits).toEqual([]);
    // The controller hears of them, for the timeline of the lease; of so many, not of each kind.
    const told = network.controller.denials.filter(({ runner_id }) => runner_id === lease.runnerId);
    expect(told.map(({ code }) => code)).toContain('internal_address');
  });

  it('shows the agent a page that says why, and the runner the reason of a tunnel', async () => {
    const other = await chromium.browser.context.newPage();
    await other.goto('http://denied.test/');
    expect(await other.textContent('h1')).toBe('The egress proxy did not let this through');
    expect(await other.textContent('body')).toContain('the session policy denies denied.test');
    await expect(other.goto('https://denied.test/')).rejects.toThrow('ERR_TUNNEL_CONNECTION_FAILED');
    expect(chromium.forwarder.refusals).toContainEqual(
      expect.objectContaining({ code: 'site_denied', authority: 'denied.test:443' }),
    );
    await other.close();
  });

  it('[B2] a policy that changes while the lease lives refuses the open page its next step, says so on a page, and in an event', async () => {
    // Of a lease of its own: that of the attacks has told of more denials than a minute has room for.
    const lease = network.lease({});
    const own = await proxiedBrowser(network, lease);
    const site = `http://site.test:${network.site.port}/`;
    const tab = await own.browser.context.newPage();
    await tab.goto(site);
    expect(await tab.textContent('body')).not.toContain('egress proxy');
    lease.setSites([{ layer: 'session', sites: siteRules.parse({ ports: [network.site.port], deny: ['site.test'] }) }]);
    const refusal = await eventually('the policy holds', async () => {
      await tab.goto(site);
      const text = await tab.textContent('body');
      return text?.includes('did not let this through') && text;
    });
    expect(refusal).toContain('the session policy denies site.test');
    const denied = { host: 'site.test', code: 'site_denied', runner_id: lease.runnerId };
    await expect
      .poll(() => network.controller.denials, { timeout: ARRIVAL_MS })
      .toContainEqual(expect.objectContaining(denied));
    await own.close();
  });

  it('sends no DNS query except through the proxy, and connects to nothing else', async () => {
    // Every query was the proxy's: names of the trap and the site, nothing of Chromium's own services.
    const names = [...network.dns.queries.keys()].map(key => key.split('/')[0] ?? '');
    expect(names.filter(name => /google|gstatic|chromium/.test(name) && !name.startsWith('metadata'))).toEqual([]);
  });
});

it('opens a site of the machine as localhost, where its address is declared reachable', async () => {
  const own = await proxyNetwork({}, { OMICRON_EGRESS_ALLOWED_CIDRS: '127.0.0.1/32' });
  const other = await proxiedBrowser(own, own.lease({ ports: [own.trap.port] }));
  try {
    const opened = await other.browser.context.newPage();
    const answer = await opened.goto(`http://localhost:${own.trap.port}/`);
    expect(await answer?.text()).toBe('SECRET');
    expect(new Set(own.trap.hits)).toEqual(new Set(['127.0.0.1']));
  } finally {
    await other.close();
    await own.close();
  }
});
