/**
 * What watching costs: `npm run bench -- live [--rounds 5]`. Ten actions of an agent (five clicks, five texts) through a
 * lease's `/mcp`, on a page that repaints itself in every frame: alone, with recording, with a viewer, in turns. Writes
 * section `live` of `.omicron/bench.json`.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parseArgs } from 'node:util';
import { watchLive } from '../runner/live/viewer.ts';
import { callText } from '../runner/start.ts';
import { startLease } from '../runner/start-lease.ts';
import { machine, percentiles, writeSections } from './figures.ts';

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '5' } } });
const ROUNDS = Number(values.rounds);
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

const took: Record<Case, number[]> = { alone: [], recording: [], viewer: [] };
for (let round = 0; round < ROUNDS; round += 1) for (const each of CASES) took[each].push(await tenActions(each));
server.close();
const ten_actions_ms = Object.fromEntries(CASES.map(each => [each, percentiles(took[each]).p50]));
console.info(JSON.stringify({ ten_actions_ms }));
console.info(`written to ${writeSections({ live: { machine: machine(), rounds: ROUNDS, ten_actions_ms } })}`);
