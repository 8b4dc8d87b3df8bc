import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startPrometheus } from '../prometheus-server.ts';
import { runHere } from './run-here.ts';

const run = promisify(execFile);
const MINUTE_MS = 60_000;
const RUNNERS = { leased: 60, warm: 20, gone: 400 };
const SESSIONS = 60;
const GB = 1e9;
/** Bytes of the whole day. */
const TRAFFIC = { in: 90 * GB, out: 10 * GB };
const STORED = { 'pw-videos/': 150 * GB, 'pw-pages/': 3 * GB };

/** A day and a half of what two replicas and a proxy export, as a Prometheus has it. */
function openMetrics(nowMs: number): string {
  const minutes = Array.from({ length: 36 * 60 }, (_, minute) => minute);
  const startMs = nowMs - minutes.length * MINUTE_MS;
  const series = (name: string, labels: string, value: (minute: number) => number) =>
    minutes.map(minute => `${name}{${labels}} ${value(minute)} ${(startMs + minute * MINUTE_MS) / 1_000}`);
  const replicas = ['instance="controller-0"', 'instance="controller-1"'];
  const family = (name: string, type: string, lines: string[]) => [`# TYPE ${name} ${type}`, ...lines];
  return [
    ...family(
      'omicron_runners',
      'gauge',
      replicas.flatMap(replica =>
        Object.entries(RUNNERS).flatMap(([state, count]) =>
          series('omicron_runners', `${replica},state="${state}"`, () => count),
        ),
      ),
    ),
    ...family(
      'omicron_active_sessions',
      'gauge',
      replicas.flatMap(replica => series('omicron_active_sessions', replica, () => SESSIONS)),
    ),
    ...family(
      'omicron_egress_bytes',
      'counter',
      Object.entries(TRAFFIC).flatMap(([direction, bytes]) =>
        series(
          'omicron_egress_bytes_total',
          `instance="egress-0",direction="${direction}"`,
          minute => (bytes / 1_440) * minute,
        ),
      ),
    ),
    ...family(
      'omicron_artifact_store_bytes',
      'gauge',
      replicas.flatMap(replica =>
        Object.entries(STORED).flatMap(([prefix, bytes]) =>
          series('omicron_artifact_store_bytes', `${replica},prefix="${prefix}"`, () => bytes),
        ),
      ),
    ),
    '# EOF',
    '',
  ].join('\n');
}

let folder: string;
let full: Awaited<ReturnType<typeof startPrometheus>>;
let empty: Awaited<ReturnType<typeof startPrometheus>>;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'last-day-'));
  await writeFile(join(folder, 'day.txt'), openMetrics(Date.now()));
  await run('promtool', ['tsdb', 'create-blocks-from', 'openmetrics', join(folder, 'day.txt'), join(folder, 'data')]);
  full = await startPrometheus(folder);
  empty = await startPrometheus(await mkdtemp(join(folder, 'empty-')));
}, 60_000);
afterAll(async () => {
  await full?.stop();
  await empty?.stop();
  await rm(folder, { recursive: true });
});

const cost = (...args: string[]) => runHere(['cost', '--last-day', ...args], { environment: {} });

it('prices what a Prometheus saw of the last day', async () => {
  const { code, stdout, stderr } = await cost('--prometheus', full.url);
  expect([code, stderr]).toEqual([0, '']);
  const { used, lines, ...day } = JSON.parse(stdout);
  // A replica's gauges are the deployment's, and count once; runners that are gone cost nothing.
  expect(used.runnerHours).toBeCloseTo(80 * 24, -1);
  expect(used.sessionHours).toBeCloseTo(60 * 24, -1);
  expect(used.inGB).toBeCloseTo(90, 0);
  expect(used.outGB).toBeCloseTo(10, 0);
  expect(used.storedGB).toBe(153);
  expect(day).toMatchObject({ env: 'prod', region: 'eu-central-1', shape: 'lean', fill: 0.7 });
  // 120 lean runners a node, 70 % of them taken
  expect(day.node_hours).toBeCloseTo(used.runnerHours / 84);
  const usd = (item: string) => lines.find((line: { item: string }) => line.item.startsWith(item)).usd;
  expect(usd('browser nodes')).toBeCloseTo(day.node_hours * 1.3968);
  expect(usd('EKS control plane')).toBeCloseTo(2.4);
  expect(usd('web traffic through NAT')).toBeCloseTo((used.inGB + used.outGB) * 0.052);
  expect(usd('traffic out')).toBeCloseTo(used.outGB * 0.09);
  expect(usd('videos, files and pages')).toBeCloseTo((153 * 0.0245 * 24) / 730);
  expect(day.usd_session_hour).toBeCloseTo(day.usd / used.sessionHours);
});

it('the chosen instances, region and fill price the day too, and a table ends with its sum', async () => {
  const args = ['--instance', 'c6g.8xlarge', '--region', 'us-east-1', '--fill', '100'];
  const day = JSON.parse((await cost('--prometheus', full.url, ...args)).stdout);
  expect(day.node_hours).toBeCloseTo(day.used.runnerHours / 120);
  expect(day.lines[0]).toMatchObject({ price_usd: 1.088, item: 'browser nodes: c6g.8xlarge, on-demand' });
  const { stdout } = await cost('--prometheus', `${full.url}/`, '-o', 'table');
  expect(stdout).toMatch(/\(browser nodes\) .*\n[\s\S]*\(total\) +- +- +- +\d+\.\d\d +0\.\d+/);
});

it('names the fault of a Prometheus without these metrics, of an address where none is, and of another server', async () => {
  expect(await cost('--prometheus', empty.url)).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringContaining('does it scrape the controller?'),
  });
  expect(await cost('--prometheus', 'http://127.0.0.1:9')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('http://127.0.0.1:9 cannot be reached'),
  });
  const other = createServer((_, answer) => answer.end('<html>')).listen(0, '127.0.0.1');
  await once(other, 'listening');
  const { port } = other.address() as { port: number };
  expect(await cost('--prometheus', `http://127.0.0.1:${port}`)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('answered 200, and not as a Prometheus does'),
  });
  other.close();
});
