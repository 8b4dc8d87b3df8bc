/**
 * The parts of a navigation's time: `npm run bench -- navigation [--rounds 40]`. The same two pages in turns by plain Playwright, by
 * Playwright MCP and by leases that differ in one part each; a part is the difference to the lease without it. Writes section `navigation` of
 * `.omicron/bench.json`: milliseconds.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { chromium } from 'playwright-core';
import { ENV } from '../../contract/names.ts';
import { parsePolicy } from '../../contract/policy/document.ts';
import { findTools, toolsEnvironment } from '../../local/machine-tools.ts';
import { VIEWPORT } from '../../runner/browser/context-options.ts';
import { type LeasedRunnerOptions, startLease } from '../runner/start-lease.ts';
import { machine, percentiles, ratio, writeSections } from './figures.ts';

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '40' } } });
const rounds = Number(values.rounds);

const items = Array.from({ length: 40 }, (_, n) => `<li><a href="/x${n}">item ${n}</a></li>`).join('');
const server = createServer(({ url = '/' }, response) =>
  response
    .writeHead(200, { 'content-type': 'text/html' })
    .end(
      `<!doctype html><title>Page ${url}</title><h1>Page</h1><p>${'Lorem ipsum dolor sit amet. '.repeat(60)}</p><ul>${items}</ul>`,
    ),
).listen(0, '127.0.0.1');
await once(server, 'listening');
const site = `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // listens on TCP

const tools = findTools(process.env);
if (tools.browser === undefined) throw new Error('no browser: run this with "npm run bench"');
const env = { ...toolsEnvironment(tools), [ENV.logLevel]: 'info' };

await using all = new AsyncDisposableStack();
all.defer(() => void server.close());

async function lease(options: LeasedRunnerOptions = {}): Promise<Client> {
  const leased = await startLease({ env, recordVideo: false, ...options });
  all.defer(() => leased[Symbol.asyncDispose]());
  return leased.client;
}

async function playwrightMcp(browser: string): Promise<Client> {
  const cli = fileURLToPath(new URL('cli.js', import.meta.resolve('@playwright/mcp/package.json')));
  const [width, height] = [VIEWPORT.width, VIEWPORT.height];
  const flags = ['--headless', '--isolated', '--executable-path', browser, '--viewport-size', `${width}x${height}`];
  const sandbox = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
  const output = ['--output-dir', join(tmpdir(), 'omicron-bench-navigation')];
  const client = new Client({ name: 'bench', version: '1' });
  await client.connect(
    new StdioClientTransport({ command: process.execPath, args: [cli, ...flags, ...sandbox, ...output] }),
  );
  all.defer(() => client.close());
  return client;
}

const by =
  (client: Client, view: { snapshot?: 'none' } = {}) =>
  async (url: string): Promise<void> => {
    const result = await client.callTool({ name: 'browser_navigate', arguments: { url, ...view } });
    if (result.isError === true) throw new Error(JSON.stringify(result.content).slice(0, 400));
  };

const browser = await chromium.launch({ executablePath: tools.browser, chromiumSandbox: process.getuid?.() !== 0 });
all.defer(() => browser.close());
const page = await browser.newPage({ viewport: VIEWPORT });
const upstream = await playwrightMcp(tools.browser);
const bare = await lease();
const secret = await lease({
  prepare(controller) {
    controller.secrets = Object.fromEntries(
      Array.from({ length: 4 }, (_, n) => [
        [`SITE${n}_USERNAME`, `ada${n}@example.com`],
        [`SITE${n}_PASSWORD`, `correct horse ${n} battery`],
      ]).flat(),
    );
    controller.sites = Array.from({ length: 4 }, (_, n) => ({ site: `site${n}`, totp: false }));
  },
});
const ruled = await lease({
  prepare(controller) {
    const tools = Array.from({ length: 50 }, (_, n) => ({
      tools: ['browser_navigate'],
      action: 'block_always',
      when: [{ path: 'url', operator: 'regex', value: `^https://[a-z]+[.]site${n}[.]example/(?:admin|settings)/` }],
      reason: 'Not for agents.',
    }));
    const layers = [{ layer: 'deployment' as const, policy: parsePolicy({ version: 1, tools }) }];
    controller.policy = { version: 'bench', layers };
  },
});
const video = await lease({ recordVideo: true });

const VARIANTS: Readonly<Record<string, (url: string) => Promise<unknown>>> = {
  plain: url => page.goto(url),
  upstream: by(upstream),
  call: () => bare.callTool({ name: 'browser_tabs', arguments: { action: 'list' } }),
  none: by(bare, { snapshot: 'none' }),
  snapshot: by(bare),
  secrets: by(secret),
  rules: by(ruled),
  video: by(video),
};
const times = new Map(Object.keys(VARIANTS).map((name): [string, number[]] => [name, []]));
const WARM_UP = 5;
for (let round = -WARM_UP; round < rounds; round += 1)
  for (const [name, go] of Object.entries(VARIANTS)) {
    const startMs = performance.now();
    await go(`${site}/${round % 2 === 0 ? 'even' : 'odd'}`);
    if (round >= 0) times.get(name)?.push(performance.now() - startMs);
  }

const medians = Object.fromEntries([...times].map(([name, each]) => [name, percentiles(each).p50]));
/** The median of the differences of runs that followed each other. */
const difference = (one: string, other: string): number =>
  percentiles((times.get(one) ?? []).map((ms, n) => ms - (times.get(other)?.[n] ?? 0))).p50;
const figures = {
  medians,
  ofUpstream: ratio(medians.snapshot ?? 0, medians.upstream ?? 0),
  parts: {
    document: medians.plain,
    call: medians.call,
    settle: percentiles(
      (times.get('none') ?? []).map((ms, n) => ms - (times.get('plain')?.[n] ?? 0) - (times.get('call')?.[n] ?? 0)),
    ).p50,
    snapshot: difference('snapshot', 'none'),
    secrets: difference('secrets', 'snapshot'),
    rules: difference('rules', 'snapshot'),
    video: difference('video', 'snapshot'),
  },
};
console.info(JSON.stringify(figures, null, 2));
console.info(`written to ${writeSections({ navigation: { machine: machine(), ...figures } })}`);
