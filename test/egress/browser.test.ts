import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { siteRules } from '../../contract/policy/sites.ts';
import { eventually } from '../eventually.ts';
import { ATTACKS_MS, type AttackingPage, attackingPage, JUDGEMENTS } from './attacking-page.ts';
import { proxiedBrowser } from './proxied-browser.ts';
import { proxyNetwork } from './proxy-network.ts';

/**
 * Ways of a page to make a browser ask for an address: one of a script, one of the document, one that is no HTTP request. Others:
 * browser-requests.test.ts and browser-documents.test.ts.
 */
const WAYS = ['fetch', 'image', 'websocket'];

let attacks: AttackingPage;
beforeAll(async () => {
  attacks = await attackingPage();
});
afterAll(() => attacks?.[Symbol.asyncDispose]());

describe('[N6] Chromium behind the forwarder and the proxy', () => {
  it.each(WAYS)('can reach the public site by %s: the way works', way => attacks.reachSite(way));

  it.each(WAYS)('reaches no internal place by %s', way => attacks.askAll(way, attacks.vectors.typed), ATTACKS_MS);

  it('was refused by judgement each time, never because a connection failed', () => {
    attacks.expectJudged();
    // The controller hears of them, for the timeline of the lease; there are too many to report each kind.
    const { network, lease, chromium } = attacks;
    expect([...new Set(chromium.refusals.map(({ code }) => code))].sort()).toEqual(JUDGEMENTS);
    const told = network.controller.denials.filter(({ runner_id }) => runner_id === lease.runnerId);
    expect(told.map(({ code }) => code)).toContain('internal_address');
  });

  it('shows the agent a page that says why, and the runner the reason of a tunnel', async () => {
    const { chromium } = attacks;
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
    // For a lease of its own: that of the attacks has reported more denials than a minute has room for.
    const { network } = attacks;
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
      .poll(() => network.controller.denials, { timeout: 20_000 })
      .toContainEqual(expect.objectContaining(denied));
    await own.close();
  });

  it('sends no DNS query except through the proxy, and connects to nothing else', () => attacks.expectNoOtherQueries());
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
