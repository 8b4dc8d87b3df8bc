import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../eventually.ts';
import { killAll, PROCESS_KINDS, type ProcessKind, processesOf } from './process-kinds.ts';
import { callText } from './start.ts';
import { type LeasedRunner, startLease } from './start-lease.ts';

/** A page that has sound and pictures of its own, so that each kind of process runs for it. */
const PAGE = `<!doctype html><title>Shop</title><h1>Shop</h1>
<canvas width="1500" height="900"></canvas>
<script>
  new AudioContext().createOscillator().start();
  const canvas = document.querySelector('canvas').getContext('webgl');
  (function draw() { canvas.clearColor(Math.random(), 0, 0, 1); canvas.clear(canvas.COLOR_BUFFER_BIT); requestAnimationFrame(draw); })();
</script>`;
/** Chromium gives its GPU process up after some deaths, and itself with it, unless set otherwise. */
const DEATHS: Readonly<Partial<Record<ProcessKind, number>>> = { GPU: 10 };
const DEATHS_DEFAULT = 2;

let server: Server;
let site: string;
let lease: LeasedRunner;
beforeAll(async () => {
  server = createServer((_request, response) => response.setHeader('content-type', 'text/html').end(PAGE));
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  site = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`; // it listens on TCP
  lease = await startLease({ recordVideo: true });
});
afterAll(async () => {
  await lease[Symbol.asyncDispose]();
  server.closeAllConnections();
  server.close();
});

const call = (name: string, args: Record<string, unknown> = {}) => callText(lease.client, name, args);

async function expectAlive(browserPid: number, kind: ProcessKind): Promise<void> {
  await eventually(`a page after the ${kind} process died`, async () =>
    (await call('browser_navigate', { url: site })).includes('Shop'),
  );
  expect(lease.runner.browserPid()).toBe(browserPid);
  expect((await lease.runner.health()).body).toMatchObject({ phase: 'leased', browser: { process: { ok: true } } });
}

const KINDS = Object.keys(PROCESS_KINDS) as ProcessKind[]; // its own keys

test.each(KINDS.flatMap(kind => [true, false].map(pending => ({ kind, pending }))))(
  'the lease lives when its $kind process dies, with a picture pending: $pending',
  async ({ kind, pending }) => {
    const browserPid = lease.runner.browserPid();
    await call('browser_navigate', { url: site });
    let killed = 0;
    for (let death = 0; death < (DEATHS[kind] ?? DEATHS_DEFAULT); death++) {
      const picture = pending ? lease.client.callTool({ name: 'browser_take_screenshot', arguments: {} }) : undefined;
      killed += killAll(browserPid, kind, death % 2 === 0 ? 'SIGKILL' : 'SIGSEGV');
      await picture?.catch(() => undefined);
      await expectAlive(browserPid, kind);
    }
    expect(killed).toBeGreaterThan(0);
  },
  240_000,
);

test('the agent learns of a tab whose process died', async () => {
  await call('browser_navigate', { url: site });
  for (const pid of processesOf(lease.runner.browserPid(), 'renderer')) process.kill(pid, 'SIGKILL');
  const said = await eventually('a result that says so', async () => {
    const text = await call('browser_tabs', { action: 'list' });
    return text.includes('was closed') && text;
  });
  expect(said).toContain(`The tab of ${new URL(site).origin} was closed: its process ended`);
});
