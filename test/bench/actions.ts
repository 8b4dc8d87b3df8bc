/**
 * Ten actions of an agent: `npm run bench -- actions [--rounds 12]`. Through `/mcp` of a lease, as results are unless a client asks for
 * something else (the page after a navigation, then its changes), without snapshots, and the former while a video is recorded; beside plain Playwright on the same browser and pages, in turns. Writes section `actions`
 * of `.omicron/bench.json`: actions a second.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parseArgs } from 'node:util';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { chromium, type Page } from 'playwright-core';
import { findTools, toolsEnvironment } from '../../local/machine-tools.ts';
import { VIEWPORT } from '../../runner/browser/browser.ts';
import { startLease } from '../runner/start-lease.ts';
import { machine, percentiles, ratio, writeSections } from './figures.ts';

const ACTIONS = 10;
const VARIANTS = ['plain', 'snapshot', 'none', 'video'] as const;
type Variant = (typeof VARIANTS)[number];
const PAGES = ['still', 'animated'] as const;

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '12' } } });
const rounds = Number(values.rounds);

const items = Array.from({ length: 40 }, (_, n) => `<li><a href="/x${n}">item ${n}</a></li>`).join('');
const BOX = `<div id=box style="position:absolute;top:20px;width:80px;height:80px;background:teal"></div>
<script>(function move(ms) { box.style.transform = 'translateX(' + (ms / 4) % 900 + 'px)'; requestAnimationFrame(move) })(0)</script>`;

/** Two pages that lead to each other, without and with a box that moves in every frame. */
function pageAt(path: string): string {
  const [, kind = 'still', which = '1'] = path.split('/');
  const [title, next] = which === '1' ? ['First page', '2'] : ['Second page', '1'];
  return `<!doctype html><title>${title}</title><h1>${title}</h1><p>${'Lorem ipsum dolor sit amet. '.repeat(60)}</p>
<ul>${items}</ul><a id=next href="/${kind}/${next}">Learn more</a>${kind === 'animated' ? BOX : ''}`;
}

const server = createServer(({ url = '/' }, response) =>
  response.writeHead(200, { 'content-type': 'text/html' }).end(pageAt(url)),
).listen(0, '127.0.0.1');
await once(server, 'listening');
const site = `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // listens on TCP

async function plainly(page: Page, url: string): Promise<void> {
  const look = async () => {
    await page.screenshot({ type: 'jpeg' });
    await page.innerText('body');
  };
  await page.goto(url);
  await page.getByText('First page').first().waitFor();
  await look();
  await page.click('#next');
  await page.getByText('Second page').first().waitFor();
  await look();
  await page.goBack();
  await page.getByText('First page').first().waitFor();
}

async function leased(client: Client, url: string, view: { snapshot?: 'none' } = {}): Promise<void> {
  const call = async (name: string, args: Record<string, unknown> = {}) => {
    const result = await client.callTool({ name: `browser_${name}`, arguments: { ...args, ...view } });
    if (result.isError === true) throw new Error(`${name}: ${JSON.stringify(result.content).slice(0, 400)}`);
  };
  const look = async () => {
    await call('take_screenshot');
    await call('evaluate', { function: '() => document.body.innerText' });
  };
  await call('navigate', { url });
  await call('wait_for', { text: 'First page' });
  await look();
  await call('click', { target: '#next' });
  await call('wait_for', { text: 'Second page' });
  await look();
  await call('navigate_back');
  await call('wait_for', { text: 'First page' });
}

const tools = findTools(process.env);
if (tools.browser === undefined) throw new Error('no browser: run this with "npm run bench"');
const env = toolsEnvironment(tools);
const browser = await chromium.launch({ executablePath: tools.browser, chromiumSandbox: process.getuid?.() !== 0 });
const page = await browser.newPage({ viewport: VIEWPORT });
const lease = await startLease({ env, recordVideo: false });
const recorded = await startLease({ env, recordVideo: true });

const run: Record<Variant, (url: string) => Promise<void>> = {
  plain: url => plainly(page, url),
  snapshot: url => leased(lease.client, url),
  none: url => leased(lease.client, url, { snapshot: 'none' }),
  video: url => leased(recorded.client, url),
};

/** Pages that are not looked at stand still. */
const AWAY = 'about:blank';
async function leave(): Promise<void> {
  await page.goto(AWAY);
  for (const { client } of [lease, recorded])
    await client.callTool({ name: 'browser_navigate', arguments: { url: AWAY, snapshot: 'none' } });
}

const found: Record<string, Record<string, number>> = {};
for (const kind of PAGES) {
  const perSecond: Record<Variant, number[]> = { plain: [], snapshot: [], none: [], video: [] };
  for (let round = 0; round <= rounds; round += 1)
    for (const variant of VARIANTS) {
      await leave();
      const startMs = performance.now();
      await run[variant](`${site}/${kind}/1`);
      // The first round warms up.
      if (round > 0) perSecond[variant].push((ACTIONS * 1_000) / (performance.now() - startMs));
    }
  const median = (of: readonly number[]) => percentiles(of).p50;
  /** Of loops that ran one after the other. */
  const paired = (a: Variant, b: Variant) => median(perSecond[a].map((value, n) => ratio(value, perSecond[b][n] ?? 0)));
  found[kind] = {
    ...Object.fromEntries(VARIANTS.map(variant => [variant, median(perSecond[variant])])),
    snapshotOfPlain: paired('snapshot', 'plain'),
    noneOfPlain: paired('none', 'plain'),
    videoOfSnapshot: paired('video', 'snapshot'),
  };
  console.info(kind, JSON.stringify(found[kind]));
}
await lease[Symbol.asyncDispose]();
await recorded[Symbol.asyncDispose]();
await browser.close();
server.close();
console.info(`written to ${writeSections({ actions: { machine: machine(), ...found } })}`);
