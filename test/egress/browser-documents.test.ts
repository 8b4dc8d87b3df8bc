import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openSearch } from '../search.ts';
import { ATTACKS_MS, type AttackingPage, attackingPage, sliceOfHosts } from './attacking-page.ts';

// Ways that open documents: each is of a site, and thus a process of its own.

/** By each way, at most this many at once. */
const ROUNDS = { iframe: 50, form: 50, 'window.open': 25, download: 25 };
const WAYS = Object.entries(ROUNDS);

const search = openSearch();

let attacks: AttackingPage;
beforeAll(async () => {
  attacks = await attackingPage();
});
afterAll(() => attacks?.[Symbol.asyncDispose]());

describe('[N6] Chromium behind the forwarder and the proxy', () => {
  it.each(WAYS)('can reach the public site by %s: the way works', way => attacks.reachSite(way));

  // A spelling has become an address before a document is asked for, so each address is tried once.
  it.each(WAYS)(
    'reaches no internal place by %s',
    (way, atOnce) => attacks.askAll(way, sliceOfHosts(search, attacks.vectors.read), atOnce),
    ATTACKS_MS,
  );

  it(
    'reaches no internal place by the address bar or behind a redirect',
    async () => {
      const { network, chromium } = attacks;
      const addresses = sliceOfHosts(search, attacks.vectors.read);
      const redirect = (url: string) =>
        `http://site.test:${network.site.port}/redirect?status=307&to=${encodeURIComponent(url)}`;
      const queue = addresses.flatMap(url => [url, redirect(url)]);
      const before = chromium.refusals.length;
      const drive = async () => {
        const tab = await chromium.browser.context.newPage();
        for (let url = queue.pop(); url !== undefined; url = queue.pop())
          await tab.goto(url, { timeout: 5000, waitUntil: 'commit' }).catch(() => {});
        await tab.close();
      };
      await Promise.all([drive(), drive(), drive(), drive()]);
      expect(network.trap.hits).toEqual([]);
      expect(chromium.refusals.length - before).toBeGreaterThan(addresses.length * 1.7);
    },
    ATTACKS_MS,
  );

  it('was refused by judgement each time, never because a connection failed', () => attacks.expectJudged());
});
