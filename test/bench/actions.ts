/**
 * Ten actions of an agent: `npm run bench -- actions [--rounds 30]`. Through `/mcp` of a lease, as results are unless a client asks for
 * something else (the page after a navigation, then its changes), and without snapshots, beside plain Playwright on the same browser and pages, in turns;
 * then the former beside a lease that records a video. Runners log as they do when deployed. Writes section `actions` of `.omicron/bench.json`: actions a second.
 *
 * `--before FOLDER` measures the runner of another clone, whose packages are installed, in the same turns: `snapshotOfBefore` and `noneOfBefore`,
 * and both without the time of their pictures, which cost more since renderers that die do not crash the browser
 * (docs/upstream/screenshot-crash.md).
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parseArgs } from 'node:util';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { chromium, type Page } from 'playwright-core';
import { ENV } from '../../contract/names.ts';
import { findTools, toolsEnvironment } from '../../local/machine-tools.ts';
import { VIEWPORT } from '../../runner/browser/context-options.ts';
import { type LeasedRunner, startLease } from '../runner/start-lease.ts';
import { machine, percentiles, ratio, writeSections } from './figures.ts';

const ACTIONS = 10;

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '30' }, before: { type: 'string' } } });
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

/** Resolves with the milliseconds that pictures took. */
type Loop = (url: string) => Promise<number>;

async function inMs(work: Promise<unknown>): Promise<number> {
  const startMs = performance.now();
  await work;
  return performance.now() - startMs;
}

async function plainly(page: Page, url: string): Promise<number> {
  let picturesMs = 0;
  const look = async () => {
    picturesMs += await inMs(page.screenshot({ type: 'jpeg' }));
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
  return picturesMs;
}

async function leased(client: Client, url: string, view: { snapshot?: 'none' } = {}): Promise<number> {
  let picturesMs = 0;
  const call = async (name: string, args: Record<string, unknown> = {}) => {
    const result = await client.callTool({ name: `browser_${name}`, arguments: { ...args, ...view } });
    if (result.isError === true) throw new Error(`${name}: ${JSON.stringify(result.content).slice(0, 400)}`);
  };
  const look = async () => {
    picturesMs += await inMs(call('take_screenshot'));
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
  return picturesMs;
}

const tools = findTools(process.env);
if (tools.browser === undefined) throw new Error('no browser: run this with "npm run bench"');
const env = { ...toolsEnvironment(tools), [ENV.logLevel]: 'info' };
const lease = await startLease({ env, recordVideo: false });
const median = (of: readonly number[]) => percentiles(of).p50;

type Kind = 'still' | 'animated';
/** Actions a second of a loop, with its pictures and without them. */
interface Rate {
  readonly all: number;
  readonly others: number;
}
const PICTURES = 2;

/**
 * One loop of each variant after the other, the first round to warm up: actions a second, by variant and round. The order turns round each time:
 * a loop is faster after some others than after itself, by up to a tenth.
 */
async function inTurns<Variant extends string>(
  kind: Kind,
  run: Record<Variant, Loop>,
  leave: () => Promise<unknown>,
): Promise<Record<Variant, Rate[]>> {
  const loops = Object.entries<Loop>(run);
  const rates = Object.fromEntries(loops.map(([variant]): [string, Rate[]] => [variant, []]));
  for (let round = 0; round <= rounds; round += 1)
    for (const [variant, loop] of round % 2 === 0 ? loops : loops.toReversed()) {
      await leave();
      const startMs = performance.now();
      const picturesMs = await loop(`${site}/${kind}/1`);
      const ms = performance.now() - startMs;
      if (round > 0)
        rates[variant]?.push({
          all: (ACTIONS * 1_000) / ms,
          others: ((ACTIONS - PICTURES) * 1_000) / (ms - picturesMs),
        });
    }
  return rates as Record<Variant, Rate[]>; // of the same keys
}

/** Pages that are not looked at stand still. */
const AWAY = 'about:blank';
const leaveLease = ({ client }: LeasedRunner) =>
  client.callTool({ name: 'browser_navigate', arguments: { url: AWAY, snapshot: 'none' } });
const typical = (rates: readonly Rate[]) => median(rates.map(({ all }) => all));
/** For loops that ran one after the other. */
const paired = (some: readonly Rate[], others: readonly Rate[], of: keyof Rate = 'all') =>
  median(some.map((rate, n) => ratio(rate[of], others[n]?.[of] ?? 0)));

async function besidePlain(page: Page, kind: Kind) {
  const { plain, snapshot, none } = await inTurns(
    kind,
    {
      plain: url => plainly(page, url),
      snapshot: url => leased(lease.client, url),
      none: url => leased(lease.client, url, { snapshot: 'none' }),
    },
    () => Promise.all([page.goto(AWAY), leaveLease(lease)]),
  );
  return {
    ...{ plain: typical(plain), snapshot: typical(snapshot), none: typical(none) },
    ...{ snapshotOfPlain: paired(snapshot, plain), noneOfPlain: paired(none, plain) },
  };
}

async function besideRecorded(recorded: LeasedRunner, kind: Kind) {
  const { snapshot, video } = await inTurns(
    kind,
    { snapshot: url => leased(lease.client, url), video: url => leased(recorded.client, url) },
    () => Promise.all([leaveLease(lease), leaveLease(recorded)]),
  );
  return { video: typical(video), videoOfSnapshot: paired(video, snapshot) };
}

/** Shares of the actions a second of the runner of a clone, each in a new lease. */
async function besideBefore(cwd: string, kind: Kind) {
  await using now = await startLease({ env, recordVideo: false });
  await using before = await startLease({ env, recordVideo: false, cwd });
  const { snapshot, snapshotBefore, none, noneBefore } = await inTurns(
    kind,
    {
      snapshot: url => leased(now.client, url),
      snapshotBefore: url => leased(before.client, url),
      none: url => leased(now.client, url, { snapshot: 'none' }),
      noneBefore: url => leased(before.client, url, { snapshot: 'none' }),
    },
    () => Promise.all([leaveLease(now), leaveLease(before)]),
  );
  return {
    snapshotOfBefore: paired(snapshot, snapshotBefore),
    noneOfBefore: paired(none, noneBefore),
    snapshotWithoutPicturesOfBefore: paired(snapshot, snapshotBefore, 'others'),
    noneWithoutPicturesOfBefore: paired(none, noneBefore, 'others'),
  };
}

const browser = await chromium.launch({ executablePath: tools.browser, chromiumSandbox: process.getuid?.() !== 0 });
const page = await browser.newPage({ viewport: VIEWPORT });
const plain = { still: await besidePlain(page, 'still'), animated: await besidePlain(page, 'animated') };
await browser.close();
const shares = async (kind: Kind) => (values.before === undefined ? {} : besideBefore(values.before, kind));
const beside = { still: await shares('still'), animated: await shares('animated') };
const recorded = await startLease({ env, recordVideo: true });
const actions = {
  still: { ...plain.still, ...beside.still, ...(await besideRecorded(recorded, 'still')) },
  animated: { ...plain.animated, ...beside.animated, ...(await besideRecorded(recorded, 'animated')) },
};
for (const [kind, figures] of Object.entries(actions)) console.info(kind, JSON.stringify(figures));
await lease[Symbol.asyncDispose]();
await recorded[Symbol.asyncDispose]();
server.close();
console.info(`written to ${writeSections({ actions: { machine: machine(), ...actions } })}`);
