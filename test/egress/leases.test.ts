import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { siteRules } from '../../contract/policy/sites.ts';
import { WATCH_PAUSE_MS } from '../../egress/lease-watch.ts';
import { eventually } from '../eventually.ts';
import { type SteppedClock, steppedClock } from '../fakes/clock.ts';
import { type ProxyNetwork, proxyNetwork, type TestLease } from './proxy-network.ts';
import { get, isAnswer, type RawAnswer, tunnel } from './raw-client.ts';
import { PUBLIC_ADDRESS } from './sites.ts';

/** Time of leases, watches and reports passes when a test says so; only sockets run in real time. */
let clock: SteppedClock;
let network: ProxyNetwork;
afterEach(() => network.close());

const REPORT_MS = 1000;
const SWEEP_MS = 250;

const zone = { 'other.test': { a: [PUBLIC_ADDRESS] }, 'deep.other.test': { a: [PUBLIC_ADDRESS] } };
const start = async (environment: Record<string, string> = {}) => {
  clock = steppedClock();
  network = await proxyNetwork(zone, environment, config => config, clock);
};
const fetchSite = (lease: TestLease, host = 'site.test', path = '/'): Promise<RawAnswer> =>
  get(network.egress.port, lease.auth, `http://${host}:${network.site.port}${path}`);
const open = async (lease: TestLease, host = 'site.test'): Promise<Socket> => {
  const outcome = await tunnel(network.egress.port, lease.auth, `${host}:${network.site.port}`);
  if (isAnswer(outcome)) throw new Error(`refused: ${outcome.refusal}`);
  return outcome.resume();
};
const closed = (socket: Socket) => eventually('the tunnel is closed', () => socket.closed);
/** Resolves when the proxy watches the lease, so that what follows is a change and not a first answer. */
const watched = () => eventually('the lease is watched', () => network.controller.counts.watch > 0);

it('[N8] closes every open tunnel and download at once when the lease ends, and those of no other lease', async () => {
  await start();
  const [mine, other] = [network.lease(), network.lease()];
  const tunnels = await Promise.all([open(mine), open(mine), open(mine)]);
  const kept = await open(other);
  const download = fetchSite(mine, 'site.test', '/silent');
  await eventually('the download has begun', () => network.site.requests.length === 1);
  await watched();
  mine.end();
  await Promise.all([...tunnels.map(closed), download]); // while the clock stands still
  expect(kept.closed).toBe(false);
  expect((await fetchSite(mine)).refusal).toBe('credential_refused');
  expect((await fetchSite(other)).status).toBe(200);
  kept.destroy();
});

it('closes the tunnels that a changed policy forbids and keeps the others', async () => {
  await start();
  const lease = network.lease();
  const [bad, good] = [await open(lease, 'other.test'), await open(lease, 'site.test')];
  await watched();
  lease.setSites([{ layer: 'session', sites: siteRules.parse({ ports: [network.site.port], deny: ['other.test'] }) }]);
  await closed(bad);
  expect(good.closed).toBe(false);
  expect(await fetchSite(lease, 'other.test')).toMatchObject({ status: 403, refusal: 'site_denied' });
  expect((await fetchSite(lease)).status).toBe(200);
  lease.setSites([{ layer: 'session', sites: siteRules.parse({ ports: [network.site.port] }) }]);
  await eventually('the site is allowed again', async () => {
    clock.advance(WATCH_PAUSE_MS);
    return (await fetchSite(lease, 'other.test')).status === 200;
  });
  good.destroy();
});

/** Begins a websocket in absolute form; resolves once it is open. */
const openWebsocket = async (lease: TestLease): Promise<Socket> => {
  const socket = connect(network.egress.port, '127.0.0.1').on('error', () => {});
  const fields =
    'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAA\r\n';
  socket.write(`GET http://site.test:${network.site.port}/socket HTTP/1.1\r\nHost: x\r\n${lease.auth}${fields}\r\n`);
  const [answer] = await once(socket, 'data');
  expect(String(answer)).toContain('101 Switching Protocols');
  return socket.resume();
};
/** A site that takes everything and says nothing. */
const quietSite = async (): Promise<{ port: number; heard(): number } & AsyncDisposable> => {
  const sockets = new Set<Socket>();
  const server = createServer(socket => void sockets.add(socket.on('error', () => {}).resume()));
  await new Promise<void>(listening => server.listen(0, PUBLIC_ADDRESS, listening));
  const stop = () => {
    for (const socket of sockets) socket.destroy();
    return new Promise<void>(ended => server.close(() => ended()));
  };
  const { port } = server.address() as AddressInfo; // a TCP server that listens has one
  const heard = () => [...sockets].reduce((sum, { bytesRead }) => sum + bytesRead, 0);
  return { port, heard, [Symbol.asyncDispose]: stop };
};
const openTo = async (lease: TestLease, port: number): Promise<Socket> => {
  const outcome = await tunnel(network.egress.port, lease.auth, `site.test:${port}`);
  if (isAnswer(outcome)) throw new Error(`refused: ${outcome.refusal}`);
  return outcome.resume();
};
/** Resolves when the proxy has hung up; the client keeps its own half open. */
const hungUp = (socket: Socket) => eventually('the proxy hangs up', () => socket.closed || socket.readableEnded);
const TLS_RECORD = [0x16, 0x03, 0x01, 0x00, 0x05];

it.each([
  ['httpsOnly', { httpsOnly: true }],
  ['a denied site', { deny: ['site.test'] }],
  ['an allow list without the site', { allow: ['other.test'] }],
  ['ports without the site’s', { ports: [443] }],
])('closes what a policy set later forbids, whatever its kind: %s', async (_name, rules) => {
  await start();
  await using quiet = await quietSite();
  const ports = [network.site.port, quiet.port];
  const lease = network.lease({ ports });
  const [spoken, silent, begun] = [await open(lease), await openTo(lease, quiet.port), await openTo(lease, quiet.port)];
  spoken.write('GET / HTTP/1.1\r\nHost: site.test\r\n\r\n');
  await once(spoken, 'data');
  begun.write(Buffer.from(TLS_RECORD.slice(0, 1))); // too little to be known as TLS
  const websocket = await openWebsocket(lease);
  const waiting = fetchSite(lease, 'site.test', '/silent');
  await eventually('all are open', () => network.site.requests.length === 3 && quiet.heard() === 1);
  await watched();
  lease.setSites([{ layer: 'session', sites: siteRules.parse({ ports, ...rules }) }]);
  await Promise.all([spoken, silent, begun, websocket].map(closed)); // while the clock stands still
  expect(await waiting).toMatchObject({ status: 502, refusal: 'upstream_failed' });
});

it('keeps the tunnels that carry TLS when a policy asks for https later, and refuses plain ones from then on', async () => {
  await start();
  await using quiet = await quietSite();
  const ports = [network.site.port, quiet.port];
  const lease = network.lease({ ports });
  const [whole, split] = [await open(lease), await open(lease)];
  whole.write(Buffer.from(TLS_RECORD));
  for (const byte of TLS_RECORD) split.write(Buffer.from([byte]));
  const answered = (socket: Socket) => once(socket, 'data'); // the site speaks no TLS and says so: the bytes went through
  await Promise.all([whole, split].map(answered));
  const [kept, plain] = [await openTo(lease, quiet.port), await openTo(lease, quiet.port)];
  kept.write(Buffer.from(TLS_RECORD.slice(0, 3)));
  await eventually('the bytes have passed', () => quiet.heard() === 3);
  await watched();
  lease.setSites([{ layer: 'session', sites: siteRules.parse({ ports, httpsOnly: true }) }]);
  await closed(plain);
  expect(kept.closed).toBe(false);
  const later = await open(lease);
  later.write('G');
  await closed(later);
  const halves = await open(lease);
  halves.write(Buffer.from(TLS_RECORD.slice(0, 1)));
  halves.write(Buffer.from(TLS_RECORD.slice(1)));
  await answered(halves);
  kept.destroy();
});

it('closes a tunnel that shows no TLS in time where a policy asks for it', async () => {
  await start({ OMICRON_EGRESS_HEAD_SECONDS: '0.1', OMICRON_EGRESS_CONNECTIONS_PER_LEASE: '1' });
  const lease = network.lease({ httpsOnly: true });
  await hungUp(await open(lease));
  await eventually('its place is free', () => open(lease));
});

it('says which rule of which layer refused, on the page and in the event', async () => {
  await start();
  const lease = network.lease({ deny: ['*.other.test'] });
  const answer = await fetchSite(lease, 'deep.other.test');
  expect(answer).toMatchObject({ status: 403, refusal: 'site_denied' });
  expect(answer.body).toContain('the session policy denies *.other.test');
  clock.advance(REPORT_MS);
  await eventually('the denial is reported', () => network.controller.denials.length > 0);
  expect(network.controller.denials).toEqual([
    expect.objectContaining({
      session_id: lease.sessionId,
      runner_id: lease.runnerId,
      epoch: 1,
      code: 'site_denied',
      method: 'http',
      host: 'deep.other.test',
      port: network.site.port,
      rule: '*.other.test',
      layer: 'session',
      count: 1,
    }),
  ]);
});

it('allows only what an allow list covers, and https only where the policy says so', async () => {
  await start();
  const listed = network.lease({ allow: ['*.other.test'] });
  expect((await fetchSite(listed, 'deep.other.test')).status).toBe(200);
  expect((await fetchSite(listed, 'other.test')).refusal).toBe('site_not_allowed');
  expect((await fetchSite(listed, PUBLIC_ADDRESS)).refusal).toBe('site_not_allowed');

  const secure = network.lease({ httpsOnly: true });
  expect((await fetchSite(secure)).refusal).toBe('https_only');
  const plain = await open(secure);
  plain.write('GET / HTTP/1.1\r\nHost: site.test\r\n\r\n');
  await closed(plain);
  expect(network.site.requests.map(({ headers }) => headers.host)).toEqual([`deep.other.test:${network.site.port}`]);
  const codes = () =>
    network.controller.denials.flatMap(event => ('method' in event && event.method === 'connect' ? event.code : []));
  clock.advance(REPORT_MS);
  await eventually('the denial is reported', () => codes().length > 0);
  expect(codes()).toEqual(['https_only']);
  const tls = await open(secure);
  tls.write(Buffer.from([0x16, 0x03, 0x01, 0x00, 0x05]));
  // The site speaks no TLS and says so: the bytes went through.
  const [answer] = await once(tls, 'data');
  expect(String(answer)).toContain('400');
});

it('lets nothing new through while the controller is away, and asks again as soon as it is back', async () => {
  await start();
  const lease = network.lease();
  for (const mode of ['down', 'hung'] as const) {
    network.controller.mode = mode;
    expect(await fetchSite(lease)).toMatchObject({ status: 503, refusal: 'policy_unavailable' });
  }
  network.controller.mode = 'up';
  expect((await fetchSite(lease)).status).toBe(200);
  expect(network.site.requests).toHaveLength(1);
});

it('trusts what it knew only for the fresh seconds, then refuses, then closes what is open', async () => {
  await start({
    OMICRON_EGRESS_FRESH_SECONDS: '0.5',
    OMICRON_EGRESS_WATCH_SECONDS: '20',
    OMICRON_EGRESS_CONFIRM_SECONDS: '2',
  });
  const lease = network.lease();
  const socket = await open(lease);
  await watched();
  network.controller.partition();
  await eventually('the watch fails', () => network.logs.length > 0);
  clock.advance(500);
  expect((await fetchSite(lease)).status).toBe(200);
  clock.advance(1);
  expect((await fetchSite(lease)).refusal).toBe('policy_unavailable');
  expect(socket.closed).toBe(false);
  clock.advance(1500);
  await closed(socket);
});

it('closes everything when the time of the lease is up, without a message', async () => {
  await start({ OMICRON_EGRESS_WATCH_SECONDS: '20' });
  const lease = network.lease({}, 700);
  const socket = await open(lease);
  clock.advance(699);
  expect((await fetchSite(lease)).status).toBe(200);
  expect(socket.closed).toBe(false);
  clock.advance(SWEEP_MS);
  await closed(socket);
});

it('asks the controller once for many requests at once, and not at all while it is fresh', async () => {
  await start();
  const lease = network.lease();
  await Promise.all(Array.from({ length: 50 }, () => fetchSite(lease)));
  expect(network.controller.counts.authorize).toBe(1);
});

it('asks once in a while about a credential that was refused, however often it is tried', async () => {
  await start();
  const lease = network.lease();
  network.controller.leases.delete(lease.runnerId);
  for (let i = 0; i < 20; i++) expect((await fetchSite(lease)).refusal).toBe('credential_refused');
  expect(network.controller.counts.authorize).toBe(1);
  clock.advance(1000);
  expect((await fetchSite(lease)).refusal).toBe('credential_refused');
  expect(network.controller.counts.authorize).toBe(2);
});

it('ends the lease of an older epoch when its runner speaks for a newer one', async () => {
  await start({ OMICRON_EGRESS_FRESH_SECONDS: '0.1', OMICRON_EGRESS_WATCH_SECONDS: '20' });
  const lease = network.lease();
  const socket = await open(lease);
  const held = network.controller.leases.get(lease.runnerId);
  if (held) held.grant = { ...held.grant, epoch: 2 };
  clock.advance(101);
  expect((await fetchSite(lease)).status).toBe(200);
  expect(network.controller.counts.authorize).toBe(2);
  await closed(socket);
});

it('refuses a connection beyond the cap and takes it again when one has ended', async () => {
  await start({ OMICRON_EGRESS_CONNECTIONS_PER_LEASE: '3' });
  const lease = network.lease();
  const [first] = await Promise.all([open(lease), open(lease), open(lease)]);
  expect(await fetchSite(lease)).toMatchObject({ status: 429, refusal: 'too_many_connections' });
  first.destroy();
  await eventually('a connection is admitted', async () => (await fetchSite(lease)).status === 200);
});

it('closes a lease that has used up its bytes, when it is swept next', async () => {
  await start({ OMICRON_EGRESS_BYTES_PER_LEASE: '1000000' });
  const [lease, other] = [network.lease(), network.lease()];
  const idle = await open(lease);
  expect((await fetchSite(lease, 'site.test', '/bytes?count=2000000')).status).toBe(200);
  expect(idle.closed).toBe(false);
  clock.advance(SWEEP_MS);
  await closed(idle);
  expect(await fetchSite(lease)).toMatchObject({ status: 403, refusal: 'bytes_exhausted' });
  expect((await fetchSite(other)).status).toBe(200);
});

it('holds back a site whose client does not read, and loses nothing of it', async () => {
  await start();
  const chunk = Buffer.alloc(64 * 1024);
  const total = 100 * 1024 * 1024;
  let sent = 0;
  const fountain = createServer(socket => {
    const pump = () => {
      if (sent === total) return void socket.end();
      socket.write(chunk, () => {
        sent += chunk.length;
        pump();
      });
    };
    socket.on('error', () => {}).resume();
    pump();
  });
  await new Promise<void>(listening => fountain.listen(0, PUBLIC_ADDRESS, listening));
  const { port } = fountain.address() as AddressInfo; // a TCP server that listens has one
  const outcome = await tunnel(network.egress.port, network.lease({ ports: [port] }).auth, `${PUBLIC_ADDRESS}:${port}`);
  if (isAnswer(outcome)) throw new Error(`refused: ${outcome.refusal}`);

  let before = -1;
  let looks = 0;
  const standsStill = () => {
    looks = sent > 0 && sent === before ? looks + 1 : 0;
    before = sent;
    return looks === 20;
  };
  await eventually('the site is held back', standsStill);
  expect(sent).toBeLessThan(total / 3); // the buffers of two connections, not the body
  let seen = 0;
  outcome.on('data', data => {
    seen += data.length;
  });
  outcome.once('end', () => outcome.end());
  await closed(outcome.resume());
  expect(seen).toBe(total);
  await new Promise(ended => fountain.close(ended));
});

it('reports equal denials as one line with a count, and keeps them while the controller is away', async () => {
  await start();
  const lease = network.lease();
  await fetchSite(lease);
  network.controller.mode = 'down';
  for (let i = 0; i < 30; i++) await get(network.egress.port, lease.auth, 'http://169.254.169.254/token?secret=1');
  clock.advance(10_000); // the report is due, and the lease is no longer fresh
  expect((await fetchSite(lease)).refusal).toBe('policy_unavailable');
  expect(network.logs.length).toBeGreaterThan(0);
  network.controller.mode = 'up';
  const sum = () => network.controller.denials.reduce((total, event) => total + event.count, 0);
  await eventually('everything is reported', () => {
    clock.advance(REPORT_MS);
    return sum() >= 30;
  });
  expect(sum()).toBe(30);
  expect(network.controller.denials.length).toBeLessThan(10);
  expect(new Set(network.controller.denials.map(({ id }) => id)).size).toBe(network.controller.denials.length);
  expect(network.controller.denials[0]).toMatchObject({
    host: '169.254.169.254',
    address_class: 'metadata',
    code: 'internal_address',
  });
  expect(JSON.stringify([network.controller.denials, network.logs])).not.toMatch(/secret|token/);
});

it('writes 608 distinct hosts as thirty lines and one with the number of the rest; metrics count each', async () => {
  await start();
  const lease = network.lease({ allow: ['other.test'] });
  for (let i = 0; i < 608; i += 32)
    await Promise.all(Array.from({ length: Math.min(32, 608 - i) }, (_, j) => fetchSite(lease, `host-${i + j}.test`)));
  const { denials } = network.controller;
  const sum = () => denials.reduce((total, event) => total + event.count, 0);
  await eventually('everything is reported', () => {
    clock.advance(REPORT_MS);
    return sum() >= 608;
  });
  expect(sum()).toBe(608);
  expect(denials).toHaveLength(31);
  expect(denials.at(-1)).toMatchObject({ session_id: lease.sessionId, code: 'more_denials', count: 578 });
  const metrics = await (await fetch(`http://127.0.0.1:${network.egress.adminPort}/metrics`)).text();
  expect(metrics).toContain('omicron_egress_refusals_total{code="site_not_allowed",address_class="none"} 608');
});

it('a lease beyond the limit of the proxy is refused by the setting, and the refusal is counted', async () => {
  await start({ OMICRON_EGRESS_LEASES_MAX: '1' });
  expect((await fetchSite(network.lease())).status).toBe(200);
  const refused = await fetchSite(network.lease());
  expect(refused).toMatchObject({ status: 503, refusal: 'leases_full' });
  expect(refused.body).toContain('OMICRON_EGRESS_LEASES_MAX');
  const metrics = await (await fetch(`http://127.0.0.1:${network.egress.adminPort}/metrics`)).text();
  expect(metrics).toContain('omicron_egress_refusals_total{code="leases_full",address_class="none"} 1');
});

it('cuts a connection on which nothing moves, and says so where an answer is still possible', async () => {
  await start({ OMICRON_EGRESS_IDLE_SECONDS: '0.3' });
  const lease = network.lease();
  const socket = await open(lease);
  expect(await fetchSite(lease, 'site.test', '/silent')).toMatchObject({ status: 504, refusal: 'upstream_timeout' });
  await closed(socket);
});
