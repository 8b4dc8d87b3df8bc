import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { eventually } from '../eventually.ts';
import type { Search } from '../search.ts';
import { type ProxiedBrowser, proxiedBrowser } from './proxied-browser.ts';
import { type ProxyNetwork, proxyNetwork, type TestLease } from './proxy-network.ts';
import { SSRF_VECTORS, SSRF_ZONE, vectorUrl } from './ssrf-vectors.ts';

/** Addresses as they are typed, those that a browser takes for one at all; and as it reads them, each once. */
export interface Vectors {
  readonly typed: readonly string[];
  readonly read: readonly string[];
}

/** A browser behind the forwarder and the proxy, with a page of the public site that asks for addresses (`attack-page.js`). */
export interface AttackingPage extends AsyncDisposable {
  readonly network: ProxyNetwork;
  readonly lease: TestLease;
  readonly chromium: ProxiedBrowser;
  readonly vectors: Vectors;
  /** Asks for a page of the public site in the given way; resolves when the site was asked. */
  reachSite(way: string): Promise<void>;
  /** Asks for every URL in the given way, at most `atOnce` at once; resolves when the host of each was refused. */
  askAll(way: string, urls: readonly string[], atOnce?: number): Promise<void>;
  /** Expects that nothing reached the trap, and that judgements alone refused. */
  expectJudged(): void;
  /** Expects that the proxy alone asked for names. */
  expectNoOtherQueries(): void;
}

/** For all addresses in one way: hundreds of requests, or pages, on machines that have other work. */
export const ATTACKS_MS = 300_000;

/** Hundreds of requests, on machines that have other work: more than a minute was seen where ten programs shared two cores. */
const ARRIVAL_MS = 240_000;

/** Codes of the judgements on names and addresses. */
export const JUDGEMENTS: readonly string[] = ['internal_address', 'internal_name', 'mixed_addresses'];

const hostOf = (url: string) => new URL(url).hostname;

/**
 * Addresses of a slice, by their hosts: each host has to be asked for, and a browser leaves out some addresses of a host (with a password,
 * as a frame).
 */
export function sliceOfHosts(search: Search, urls: readonly string[]): string[] {
  const hosts = new Set(search.sliceOf([...new Set(urls.map(hostOf))]));
  return urls.filter(url => hosts.has(hostOf(url)));
}

export async function attackingPage(): Promise<AttackingPage> {
  await using started = new AsyncDisposableStack();
  const network = await proxyNetwork(SSRF_ZONE, {
    OMICRON_EGRESS_CONNECTIONS_PER_LEASE: '5000',
    OMICRON_EGRESS_DNS_SECONDS: '10', // hundreds of lookups at once
  });
  started.defer(() => network.close());
  const lease = network.lease({ deny: ['denied.test'] });
  const chromium = await proxiedBrowser(network, lease);
  started.defer(() => chromium.close());
  const site = `http://site.test:${network.site.port}`;
  let page: Page;

  async function openPage(): Promise<void> {
    page = await chromium.browser.context.newPage();
    await page.goto(`${site}/`);
    await page.addScriptTag({ path: join(import.meta.dirname, 'attack-page.js') });
  }

  /** Begins again with a page of its own, between rounds: pages that a vector opened pile up, and a page may open only a limited number. */
  async function clear(): Promise<void> {
    const before = chromium.browser.context.pages();
    await openPage();
    await Promise.all(before.map(other => other.close().catch(() => {})));
  }

  const attempt = (way: string, urls: readonly string[]) =>
    page.evaluate(`attempt(${JSON.stringify(way)}, ${JSON.stringify(urls)})`);
  const arrival = (path: string) =>
    eventually(`a request of ${path}`, () => network.site.requests.some(({ url }) => url === path), ARRIVAL_MS);
  const pathOf = (name: string) => `/${name.replaceAll(/\W/g, '-')}`;

  await openPage();
  const typed = SSRF_VECTORS.map(vector => vectorUrl(vector, network.trap.port)).filter(url => URL.canParse(url));
  const parts = started.move();
  return {
    ...{ network, lease, chromium },
    vectors: { typed, read: [...new Set(typed.map(url => new URL(url).href))] },
    async reachSite(way) {
      const path = pathOf(`control ${way}`);
      await attempt(way, [site + path]);
      await arrival(path);
      await clear();
    },
    async askAll(way, urls, atOnce = urls.length) {
      for (let i = 0; i < urls.length; i += atOnce) {
        const round = urls.slice(i, i + atOnce);
        const before = chromium.refusals.length;
        // Most ways ask in order: once the last address has arrived, the others have been asked for, those of one host too.
        const last = pathOf(`after ${way} ${i}`);
        await attempt(way, [...round, site + last]);
        await arrival(last);
        const notAsked = () => {
          const asked = new Set(chromium.refusals.slice(before).map(({ authority }) => hostOf(`http://${authority}`)));
          return [...new Set(round.map(hostOf))].filter(host => !asked.has(host));
        };
        await expect.poll(notAsked, { timeout: ARRIVAL_MS }).toEqual([]);
        await clear();
      }
      expect(network.trap.hits).toEqual([]);
    },
    expectNoOtherQueries() {
      // Every query was the proxy's: names of the trap and the site, nothing of Chromium's own services.
      const names = [...network.dns.queries.keys()].map(key => key.split('/')[0] ?? '');
      expect(names.filter(name => /google|gstatic|chromium/.test(name) && !name.startsWith('metadata'))).toEqual([]);
    },
    expectJudged() {
      const codes = chromium.refusals.map(({ code }) => code);
      expect(codes.length).toBeGreaterThan(0);
      expect(codes.filter(code => !JUDGEMENTS.includes(code))).toEqual([]);
      expect(network.trap.hits).toEqual([]);
    },
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  };
}
