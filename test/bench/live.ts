/**
 * The live view: `npm run bench -- live [--rounds 5] [--races 50]`, all in one run, on a page that repaints itself in every frame.
 * What watching costs an agent (ten actions through a lease's `/mcp`: alone, with recording, with a viewer, in turns); pictures a
 * second and the time from paint to pixels, and from a click to changed pixels, in the console's own page in Chromium; processor time
 * with 1, 5 and 20 viewers; races for control. Writes section `live` of `.omicron/bench.json`.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { readProcessTree } from '../../http/process-tree.ts';
import { race } from '../runner/live/race.ts';
import { watchLive } from '../runner/live/viewer.ts';
import { callText } from '../runner/start.ts';
import { startLease } from '../runner/start-lease.ts';
import { machine, percentiles, writeSections } from './figures.ts';
import { seenInConsole } from './live-latency.ts';

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '5' }, races: { type: 'string', default: '50' } },
});
const ROUNDS = Number(values.rounds);
const RACES = Number(values.races);
const CPU_MS = 5_000;
const CASES = ['alone', 'recording', 'viewer'] as const;
type Case = (typeof CASES)[number];

const PAGE = `<!doctype html><meta charset=utf-8><title>Animated</title><body style="margin:0;font:16px sans-serif">
<button id=b onclick="this.textContent = 'pressed ' + Date.now() % 1e6" style="position:fixed;left:20px;top:20px">press</button>
<input id=i aria-label=text style="position:fixed;left:300px;top:20px"><canvas id=c width=1920 height=1080></canvas>
<script>
const g = c.getContext('2d');
(function draw(t) {
  g.fillStyle = 'hsl(' + (t / 20) % 360 + ',60%,85%)'; g.fillRect(0, 0, 1920, 1080); g.fillStyle = '#123';
  for (let n = 0; n < 54; n += 1) g.fillText('row ' + n + ' ' + Math.round(t) + ' lorem ipsum dolor sit amet '.repeat(8), (t / 10 + n * 7) % 200, n * 20);
  requestAnimationFrame(draw);
})(0);
</script>`;

const server = createServer((_request, response) => {
  response.writeHead(200, { 'content-type': 'text/html' }).end(PAGE);
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`; // a TCP server has a port

/** Milliseconds of ten actions, after two that warm up. */
async function tenActions(of: Case): Promise<number> {
  await using lease = await startLease({ recordVideo: of === 'recording' });
  const { client, controller, runner } = lease;
  const viewer = of === 'viewer' ? await watchLive(runner.url, await controller.liveToken(runner)) : undefined;
  await callText(client, 'browser_navigate', { url });
  const pair = async (n: number) => {
    await callText(client, 'browser_click', { target: '#b' });
    await callText(client, 'browser_type', { target: '#i', text: `text ${n}` });
  };
  await pair(0);
  const startMs = performance.now();
  for (let n = 1; n <= 5; n += 1) await pair(n);
  const ms = performance.now() - startMs;
  viewer?.close();
  return ms;
}

/** Share of one core that a runner and its browser take with so many viewers: 100 is a whole core. */
async function cpuWith(viewers: number): Promise<number> {
  await using lease = await startLease();
  const { client, controller, runner } = lease;
  await callText(client, 'browser_navigate', { url });
  const watching = await Promise.all(
    Array.from({ length: viewers }, async () => watchLive(runner.url, await controller.liveToken(runner))),
  );
  const cpuMs = async () => {
    const own = await readProcessTree(runner.child.pid ?? 0);
    return own.reduce((sum, each) => sum + each.cpuMs, 0);
  };
  const [beforeMs, startMs] = [await cpuMs(), performance.now()];
  await delay(CPU_MS);
  const share = ((await cpuMs()) - beforeMs) / (performance.now() - startMs);
  for (const viewer of watching) viewer.close();
  return Math.round(share * 100);
}

async function raced() {
  await using lease = await startLease();
  const { underPerson } = await race(lease, RACES);
  return { trials: RACES, agent_inputs_under_person: underPerson };
}

const took: Record<Case, number[]> = { alone: [], recording: [], viewer: [] };
for (let round = 0; round < ROUNDS; round += 1) for (const each of CASES) took[each].push(await tenActions(each));
const ten_actions_ms = Object.fromEntries(CASES.map(each => [each, percentiles(took[each]).p50]));
const cpu_percent = {
  viewers_0: await cpuWith(0),
  viewers_1: await cpuWith(1),
  viewers_5: await cpuWith(5),
  viewers_20: await cpuWith(20),
};
server.close();
const live = { ...(await seenInConsole()), ten_actions_ms, cpu_percent, races: await raced() };
console.info(JSON.stringify(live));
console.info(`written to ${writeSections({ live: { machine: machine(), rounds: ROUNDS, ...live } })}`);
