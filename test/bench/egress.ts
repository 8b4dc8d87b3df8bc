/**
 * The cost of the egress proxy: `npm run bench -- egress [--rounds 1500]`. The same 1 KB fetch directly, through our proxy and
 * through tinyproxy; 30 fetches in a page, in a browser behind forwarder and proxy and in one without; then 500 tunnels at once, and bulk bytes. Everything is on loopback; client, proxy and site are three
 * processes that share the machine's cores, so throughput is that of all three. Writes section `egress` of
 * `.omicron/bench.json`.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, createServer, get as httpGet } from 'node:http';
import { type AddressInfo, connect, createServer as createTcp, type Socket } from 'node:net';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { basic, isAnswer, tunnel } from '../egress/raw-client.ts';
import { startFakeController } from '../fakes/controller.ts';
import { percentiles, writeSections } from './figures.ts';
import { pageFetches } from './page-fetches.ts';

const SITE_ADDRESS = '127.0.0.77';
const WARM_UP = 300;
const TUNNELS = 500;
const BULK_BYTES = 512 * 1024 * 1024;
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { rounds: { type: 'string', default: '1500' } },
});
const FETCHES = Number(values.rounds);
const TARGETS = { overhead_p50_ms: 1.5, tunnels: 500, megabytes_per_second: 200 };

interface Proxy {
  readonly port: number;
  readonly auth: string;
}

/** Role of a child process: the site. */
async function site(): Promise<void> {
  const kilobyte = Buffer.alloc(1024, 'x');
  const chunk = Buffer.alloc(256 * 1024);
  const server = createServer((request, response) => {
    if (request.url !== '/bulk') return void response.end(kilobyte);
    response.writeHead(200, { 'content-length': BULK_BYTES });
    let left = BULK_BYTES;
    const more = () => {
      while (left > 0) {
        left -= chunk.length;
        if (!response.write(chunk)) return void response.once('drain', more);
      }
      response.end();
    };
    more();
  });
  server.keepAliveTimeout = 60_000;
  server.listen(0, SITE_ADDRESS, () => console.log((server.address() as AddressInfo).port)); // a TCP server that listens has one
}

const rounded = (value: number) => Math.round(value * 1000) / 1000;
const quantiles = (times: number[]) => {
  const { p50, p95 } = percentiles(times);
  return { p50_ms: p50, p95_ms: p95 };
};

function fetchOnce(sitePort: number, proxy: Proxy | null, agent: Agent, host: string): Promise<number> {
  const startedMs = performance.now();
  const url = `http://${host}:${sitePort}/`;
  const options = proxy
    ? {
        host: '127.0.0.1',
        port: proxy.port,
        path: url,
        headers: { host: `${host}:${sitePort}`, ...authHeader(proxy) },
        agent,
      }
    : { host, port: sitePort, path: '/', agent };
  return new Promise((done, failed) => {
    httpGet(options, response => {
      if (response.statusCode !== 200) failed(new Error(`status ${response.statusCode}`));
      response.resume().once('end', () => done(performance.now() - startedMs));
    }).once('error', cause => failed(new Error(`fetch through port ${proxy?.port ?? 'none'} failed`, { cause })));
  });
}
const authHeader = ({ auth }: Proxy) =>
  auth ? { 'proxy-authorization': auth.slice(auth.indexOf(':') + 2).trim() } : {};

/** One GET over a fresh CONNECT tunnel, from dialling the proxy to the last byte: what https pays before TLS. */
async function tunnelOnce(sitePort: number, proxy: Proxy): Promise<number> {
  const startedMs = performance.now();
  const socket = await openTunnel(sitePort, proxy);
  await roundTrip(socket);
  socket.destroy();
  return performance.now() - startedMs;
}

async function openTunnel(sitePort: number, proxy: Proxy): Promise<Socket> {
  const outcome = await tunnel(proxy.port, proxy.auth, `${SITE_ADDRESS}:${sitePort}`);
  if (isAnswer(outcome)) throw new Error(`refused: ${outcome.status} ${outcome.refusal}`);
  return outcome;
}

function roundTrip(socket: Socket): Promise<void> {
  socket.write('GET / HTTP/1.1\r\nHost: s\r\n\r\n');
  let seen = 0;
  return new Promise((done, failed) => {
    const onClose = () => failed(new Error('the tunnel closed'));
    const onData = (chunk: Buffer) => {
      seen += chunk.length;
      if (seen <= 1024) return; // head and body come to more than the body
      socket.off('data', onData).off('close', onClose);
      done();
    };
    socket.on('data', onData).once('close', onClose).resume();
  });
}

/** The proxies take turns, so that a slow moment of the machine affects all of them. */
async function latencies(sitePort: number, proxies: Record<string, Proxy | null>, keepAlive: boolean) {
  const times: Record<string, number[]> = {};
  const agents: Record<string, Agent> = {};
  const failures: Record<string, number> = {};
  for (const name of Object.keys(proxies)) {
    times[name] = [];
    agents[name] = new Agent({ keepAlive, maxSockets: 1 });
  }
  for (let i = 0; i < FETCHES + WARM_UP; i++)
    for (const [name, proxy] of Object.entries(proxies)) {
      const agent = agents[name];
      if (!agent) continue;
      try {
        const milliseconds = await fetchOnce(sitePort, proxy, agent, SITE_ADDRESS);
        if (i >= WARM_UP) times[name]?.push(milliseconds);
      } catch (cause) {
        // tinyproxy sometimes drops a connection under load; our proxy must not
        if (name !== 'tinyproxy') throw cause;
        failures[name] = (failures[name] ?? 0) + 1;
      }
    }
  if (failures.tinyproxy) console.error(`tinyproxy dropped ${failures.tinyproxy} of ${FETCHES + WARM_UP} fetches`);
  for (const agent of Object.values(agents)) agent.destroy();
  return Object.fromEntries(Object.entries(times).map(([name, list]) => [name, quantiles(list)]));
}

async function tunnelLatencies(sitePort: number, proxies: Record<string, Proxy>) {
  const times: Record<string, number[]> = Object.fromEntries(Object.keys(proxies).map(name => [name, []]));
  for (let i = 0; i < FETCHES / 2 + WARM_UP; i++)
    for (const [name, proxy] of Object.entries(proxies)) {
      const milliseconds = await tunnelOnce(sitePort, proxy);
      if (i >= WARM_UP) times[name]?.push(milliseconds);
    }
  return Object.fromEntries(Object.entries(times).map(([name, list]) => [name, quantiles(list)]));
}

async function manyTunnels(sitePort: number, proxy: Proxy) {
  const startedMs = performance.now();
  const settled = await Promise.allSettled(Array.from({ length: TUNNELS }, () => openTunnel(sitePort, proxy)));
  const sockets = settled.flatMap(outcome => (outcome.status === 'fulfilled' ? [outcome.value] : []));
  const openMs = performance.now() - startedMs;
  const before = performance.now();
  const answered = await Promise.allSettled(sockets.map(roundTrip));
  const all_answered_ms = rounded(performance.now() - before);
  for (const socket of sockets) socket.destroy();
  return {
    open: sockets.length,
    answered: answered.filter(({ status }) => status === 'fulfilled').length,
    open_ms: rounded(openMs),
    all_answered_ms,
  };
}

async function bulk(sitePort: number, proxy: Proxy | null): Promise<number> {
  const socket = proxy ? await openTunnel(sitePort, proxy) : connect(sitePort, SITE_ADDRESS);
  const startedMs = performance.now();
  socket.write('GET /bulk HTTP/1.1\r\nHost: s\r\nConnection: close\r\n\r\n');
  let seen = 0;
  socket.on('data', chunk => {
    seen += chunk.length;
    if (seen >= BULK_BYTES) socket.destroy();
  });
  socket.resume();
  await once(socket, 'close');
  if (seen < BULK_BYTES) throw new Error('bulk was cut short');
  return Math.round(seen / 1e6 / ((performance.now() - startedMs) / 1000));
}

const children: ChildProcess[] = [];
function child(command: string, args: string[], environment: Record<string, string> = {}): ChildProcess {
  const started = spawn(command, args, {
    env: { PATH: process.env.PATH, ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(started);
  return started;
}
async function firstLine(of: ChildProcess, matching: RegExp): Promise<string> {
  if (!of.stdout) throw new Error('no output');
  for await (const line of createInterface({ input: of.stdout })) if (matching.test(line)) return line;
  throw new Error('the child ended before it was ready');
}

/** Debian's tinyproxy, with everything allowed; null when it cannot be installed. */
async function tinyproxy(folder: string): Promise<Proxy | null> {
  const installed = () => {
    try {
      return execFileSync('sh', ['-c', 'command -v tinyproxy'], { encoding: 'utf8' }).trim();
    } catch {
      return null;
    }
  };
  if (!installed() && process.getuid?.() === 0)
    try {
      execFileSync('apt-get', ['install', '-y', '-qq', 'tinyproxy-bin'], { stdio: 'ignore', timeout: 120_000 });
    } catch {
      // reported below
    }
  const binary = installed();
  if (!binary) {
    console.error('tinyproxy is not installed; its column is left out (apt install tinyproxy-bin)');
    return null;
  }
  const probe = createTcp().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo; // a TCP server that listens has one
  await new Promise(closed => probe.close(closed));
  const file = join(folder, 'tinyproxy.conf');
  writeFileSync(
    file,
    `Port ${port}\nListen 127.0.0.1\nTimeout 600\nMaxClients 2000\nAllow 127.0.0.1\nLogLevel Critical\nLogFile "${join(folder, 'tinyproxy.log')}"\nDisableViaHeader Yes\n`,
  );
  child(binary, ['-d', '-c', file]);
  for (const until = performance.now() + 10_000; performance.now() < until; ) {
    const socket = connect(port, '127.0.0.1');
    const reached = await new Promise<boolean>(done =>
      socket.once('connect', () => done(true)).once('error', () => done(false)),
    );
    socket.destroy();
    if (reached) return { port, auth: '' };
  }
  throw new Error('tinyproxy does not listen');
}

async function measure(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'egress-bench-'));
  const controller = await startFakeController();
  try {
    const sitePort = Number(await firstLine(child(process.execPath, [import.meta.filename, 'site']), /^[0-9]+$/));
    const egress = child(process.execPath, [join(import.meta.dirname, '../../egress/main.ts')], {
      OMICRON_CONTROLLER_URL: controller.url,
      OMICRON_EGRESS_JWT_SECRET: controller.egressSecret,
      OMICRON_EGRESS_HOST: '127.0.0.1',
      OMICRON_EGRESS_PORT: '0',
      OMICRON_EGRESS_ADMIN_PORT: '0',
      OMICRON_EGRESS_ALLOWED_CIDRS: `${SITE_ADDRESS}/32`,
      OMICRON_EGRESS_CONNECTIONS_PER_LEASE: '1000',
    });
    const ready: { port: number } = JSON.parse(await firstLine(egress, /egress proxy ready/));
    const [runner_id, session_id] = [randomUUID(), randomUUID()];
    const grant = {
      runner_id,
      session_id,
      client: 'browser' as const,
      epoch: 1,
      version: '1',
      remaining_ms: 3_600_000,
      layers: [{ layer: 'deployment' as const, sites: { ports: [sitePort] } }],
    };
    controller.leases.set(runner_id, { credential: 'bench', grant });
    const ours: Proxy = { port: ready.port, auth: basic(runner_id, 'bench') };
    const tiny = await tinyproxy(folder);

    console.error(`omicron listens on ${ours.port}, tinyproxy on ${tiny?.port ?? 'nothing'}`);
    const ways = { direct: null, omicron: ours, ...(tiny ? { tinyproxy: tiny } : {}) };
    const proxies = { omicron: ours, ...(tiny ? { tinyproxy: tiny } : {}) };
    const keep_alive = await latencies(sitePort, ways, true);
    const fresh = await latencies(sitePort, ways, false);
    const connectFresh = await tunnelLatencies(sitePort, proxies);
    const tunnels: Record<string, object> = {};
    const megabytes_per_second: Record<string, number> = {};
    for (const [name, proxy] of Object.entries(proxies)) tunnels[name] = await manyTunnels(sitePort, proxy);
    for (const [name, proxy] of Object.entries(ways)) {
      const rounds = [await bulk(sitePort, proxy), await bulk(sitePort, proxy), await bulk(sitePort, proxy)].sort(
        (a, b) => a - b,
      );
      megabytes_per_second[name] = rounds[1] ?? 0;
    }
    const page_fetch_3kb = await pageFetches();
    const over = (set: typeof keep_alive) => rounded((set.omicron?.p50_ms ?? 0) - (set.direct?.p50_ms ?? 0));
    const result = {
      measured_at: new Date().toISOString(),
      node: process.version,
      cores: availableParallelism(),
      targets: TARGETS,
      fetch_1kb: { keep_alive, fresh, overhead_p50_ms: { keep_alive: over(keep_alive), fresh: over(fresh) } },
      page_fetch_3kb,
      connect_then_fetch_1kb: connectFresh,
      concurrent_tunnels: tunnels,
      megabytes_per_second,
    };
    writeSections({ egress: result });
    console.log(JSON.stringify(result, null, 2));
  } finally {
    for (const started of children) started.kill('SIGKILL');
    await controller.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

await (positionals[0] === 'site' ? site() : measure());
