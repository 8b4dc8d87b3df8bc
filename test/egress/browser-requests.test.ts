import { afterAll, beforeAll, describe, it } from 'vitest';
import { openSearch } from '../search.ts';
import { ATTACKS_MS, type AttackingPage, attackingPage, sliceOfHosts } from './attacking-page.ts';

// More ways of a page to make a browser ask for an address than browser.test.ts has, which open no documents.

const WAYS = ['beacon', 'script', 'event source', 'prefetch', 'worker'];
/** Each is a thread. */
const WORKERS_MAX = 60;

const search = openSearch();

let attacks: AttackingPage;
beforeAll(async () => {
  attacks = await attackingPage();
});
afterAll(() => attacks?.[Symbol.asyncDispose]());

describe('[N6] Chromium behind the forwarder and the proxy', () => {
  it.each(WAYS)('can reach the public site by %s: the way works', way => attacks.reachSite(way));

  it.each(WAYS)(
    'reaches no internal place by %s',
    way => attacks.askAll(way, sliceOfHosts(search, attacks.vectors.typed), way === 'worker' ? WORKERS_MAX : undefined),
    ATTACKS_MS,
  );

  it('was refused by judgement each time, never because a connection failed', () => attacks.expectJudged());

  it('sends no DNS query except through the proxy, and connects to nothing else', () => attacks.expectNoOtherQueries());
});
