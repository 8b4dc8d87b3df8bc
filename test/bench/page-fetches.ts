import type { Page } from 'playwright-core';
import { chromium } from 'playwright-core';
import { proxiedBrowser } from '../egress/proxied-browser.ts';
import { proxyNetwork } from '../egress/proxy-network.ts';
import { PUBLIC_ADDRESS } from '../egress/sites.ts';
import { percentiles } from './figures.ts';

const ROUNDS = 20;
const FETCHES = 30;

/** Milliseconds of one of 30 fetches of 3 kB that follow each other in a page: through forwarder and proxy, and without any. */
export async function pageFetches() {
  const network = await proxyNetwork({});
  const proxied = await proxiedBrowser(network, network.lease());
  const plain = await chromium.launch({ executablePath: proxied.executable, chromiumSandbox: false });
  try {
    const pages = { omicron: await proxied.browser.context.newPage(), direct: await plain.newPage() };
    const times: Record<keyof typeof pages, number[]> = { omicron: [], direct: [] };
    const sites = { omicron: 'site.test', direct: PUBLIC_ADDRESS };
    for (const name of ['omicron', 'direct'] as const)
      await pages[name].goto(`http://${sites[name]}:${network.site.port}/`);
    for (let round = 0; round < ROUNDS; round++)
      for (const name of ['omicron', 'direct'] as const) times[name].push(await fetchesIn(pages[name]));
    return { omicron: percentiles(times.omicron), direct: percentiles(times.direct) };
  } finally {
    await plain.close();
    await proxied.close();
    await network.close();
  }
}

const fetchesIn = (page: Page): Promise<number> =>
  page.evaluate(async count => {
    const startedMs = performance.now();
    for (let n = 0; n < count; n++) await (await fetch(`/bytes?count=3000&n=${n}`, { cache: 'no-store' })).text();
    return (performance.now() - startedMs) / count;
  }, FETCHES);
