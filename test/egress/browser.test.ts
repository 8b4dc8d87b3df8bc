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

let network: ProxyNetwork;
let lease: TestLease;
let chromium: ProxiedBrowser;
let page: Page;

beforeAll(async () => {
  network = await proxyNetwork(SSRF_ZONE, { OMICRON_EGRESS_CONNECTIONS_PER_LEASE: '5000' });
  lease = network.lease({ deny: ['denied.test'] });
  chromium = await proxiedBrowser(network, lease);
  await openPage();
});
afterAll(async () => {
  await chromium?.close();
  await network?.close();
});

/**
 * Tries every URL in the given way from a page of the public site; resolves when all have settled, by the page's
 * clock.
 */
const attempt = async (way: Way, urls: readonly string[]): Promise<void> => {
  await page.evaluate(`attempt(${JSON.stringify(way)}, ${JSON.stringify(urls)})`);
};

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
  for (const other of before) await other.close().catch(() => {});
}
/** What a browser takes for an address at all, as it is typed; `read` is what it makes of them, each once. */
const typed = () => SSRF_VECTORS.map(vector => vectorUrl(vector, network.trap.port)).filter(url => URL.canParse(url));
const read = () => [...new Set(typed().map(url => new URL(url).href))];
/** Rounds of hundreds of pages, on machines that have other work. */
const ROUND_MS = 300_000;

describe('[N6] Chromium behind the forwarder and the proxy', () => {
  it.each(WAYS)('can reach the public site by %s: the way works', async way => {
    const path = `/control-${way.replaceAll(/\W/g, '-')}`;
    await attempt(way, [`http://site.test:${network.site.port}${path}`]);
    await expect.poll(() => network.site.requests.map(({ url }) => url), { timeout: 5000 }).toContain(path);
    await clear();
  });

  it.each(WAYS)(
    'reaches no internal place by %s',
    async way => {
      const size = way === 'window.open' || way === 'download' ? 25 : 60;
      const before = chromium.refused.length;
      const urls = typed();
      const tried = new Set<string>();
      for (let i = 0; i < urls.length; i += size) {
        const round = urls.slice(i, i + size);
        await attempt(way, round);
        for (const url of round) tried.add(new URL(url).href);
        // Chromium asks once for what it reads as one address; nearly each of them must have been asked for.
        await expect
          .poll(() => chromium.refused.length - before, { timeout: 20_000 })
          .toBeGreaterThan(tried.size * 0.8);
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
      const before = chromium.refused.length;
      const drive = async () => {
        const tab = await chromium.browser.context.newPage();
        for (let url = queue.pop(); url !== undefined; url = queue.pop())
          await tab.goto(url, { timeout: 5000, waitUntil: 'commit' }).catch(() => {});
        await tab.close();
      };
      await Promise.all([drive(), drive(), drive(), drive()]);
      expect(network.trap.hits).toEqual([]);
      expect(chromium.refused.length - before).toBeGreaterThan(read().length * 1.7);
    },
    ROUND_MS,
  );

  it('was refused by judgement each time, never because a connection failed', () => {
    expect(chromium.refused.length).toBeGreaterThan(read().length * WAYS.length * 0.8);
    expect([...new Set(chromium.refused)].sort()).toEqual(['internal_address', 'internal_name', 'mixed_addresses']);
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
      .poll(() => network.controller.denials, { timeout: 10_000 })
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
