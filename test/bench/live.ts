/**
 * The live view: `npm run bench -- live [--rounds 5] [--races 100] [--only seen,actions,cpu,races]`, on a page that repaints itself in every frame.
 * The cost of watching for an agent (ten actions through a lease's `/mcp`: alone, with recording, with a viewer, in turns); pictures a
 * second and the time from paint to pixels, and from a click to changed pixels, in the console's own page in Chromium; processor time
 * with 1, 5 and 20 viewers; races for control. Writes the sections `live` and `live_run` (the machine, and processor time) of
 * `.omicron/bench.json`; with `--only` their other figures stay as they are.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { readProcessTree } from '../../process/process-tree.ts';
import { race } from '../runner/live/race.ts';
import { watchLive } from '../runner/live/viewer.ts';
import { callText } from '../runner/start.ts';
import { startLease } from '../runner/start-lease.ts';
import { machine, percentiles, readSection, writeSections } from './figures.ts';
import { seenInConsole } from './live-latency.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    races: { type: 'string', default: '100' },
    only: { type: 'string', default: 'seen,actions,cpu,races' },
  },
});
const parts = values.only.split(',');
const ROUNDS = Number(values.rounds);
const RACES = Number(values.races);
const RACES_A_LEASE = 500;
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

/** Share of one core that a runner and its browser take with this number of viewers: 100 is a whole core. */
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

async function actions() {
  const took: Record<Case, number[]> = { alone: [], recording: [], viewer: [] };
  for (let round = 0; round < ROUNDS; round += 1) for (const each of CASES) took[each].push(await tenActions(each));
  return { ten_actions_ms: Object.fromEntries(CASES.map(each => [each, percentiles(took[each]).p50])) };
}

async function cpu() {
  const cpu_percent: Record<string, number> = {};
  for (const viewers of [0, 1, 5, 20]) cpu_percent[`viewers_${viewers}`] = await cpuWith(viewers);
  return { cpu_percent };
}

/** Each lease has some of the races. */
async function races() {
  const found = { trials: 0, agent_inputs_under_person: 0 };
  while (found.trials < RACES) {
    const trials = Math.min(RACES_A_LEASE, RACES - found.trials);
    const { inputs, takenOver, underPerson } = await race(trials, Math.random);
    found.trials += trials;
    found.agent_inputs_under_person += underPerson;
    console.info(
      `${found.trials} races; of the last ${trials}, ${takenOver} with a second person, ${inputs} inputs of the agent`,
    );
  }
  return { races: found };
}

/** The figures, and beside them the machine: `live` has the figures alone. */
let live = readSection('live');
let run = readSection('live_run');
for (const [part, measure] of Object.entries({ seen: seenInConsole, actions, cpu, races })) {
  if (!parts.includes(part)) continue;
  const startMs = performance.now();
  const figures = await measure();
  console.info(`${part}, in ${Math.round((performance.now() - startMs) / 1_000)} s: ${JSON.stringify(figures)}`);
  if (part === 'cpu') run = { ...run, ...figures };
  else live = { ...live, ...figures };
  run = { ...run, machine: machine(), rounds: ROUNDS };
}
server.close();
console.info(`written to ${writeSections({ live, live_run: run })}`);
