import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { siteRules } from '../../contract/policy/sites.ts';
import { type ProxyNetwork, proxyNetwork, type TestLease } from './proxy-network.ts';
import { get, isAnswer, type RawAnswer, tunnel } from './raw-client.ts';
import { PUBLIC_ADDRESS } from './sites.ts';

let network: ProxyNetwork;
afterEach(() => network.close());

const zone = { 'other.test': { a: [PUBLIC_ADDRESS] }, 'deep.other.test': { a: [PUBLIC_ADDRESS] } };
const start = async (environment: Record<string, string> = {}) => {
  network = await proxyNetwork(zone, environment);
};
const fetchSite = (lease: TestLease, host = 'site.test', path = '/'): Promise<RawAnswer> =>
  get(network.egress.port, lease.auth, `http://${host}:${network.site.port}${path}`);
const open = async (lease: TestLease, host = 'site.test'): Promise<Socket> => {
  const outcome = await tunnel(network.egress.port, lease.auth, `${host}:${network.site.port}`);
  if (isAnswer(outcome)) throw new Error(`refused: ${outcome.refusal}`);
  return outcome.resume();
};
const closed = (socket: Socket) => expect.poll(() => socket.closed, { timeout: 10_000, interval: 5 }).toBe(true);
/** Resolves when the proxy has begun to watch the lease, so that what follows is a change and not a first answer. */
const watched = () => expect.poll(() => network.controller.counts.watch, { timeout: 5000 }).toBeGreaterThan(0);

it('closes every open tunnel and download at once when the lease ends, and those of no other lease', async () => {
  await start();
  const [mine, other] = [network.lease(), network.lease()];
  const tunnels = await Promise.all([open(mine), open(mine), open(mine)]);
  const kept = await open(other);
  const download = fetchSite(mine, 'site.test', '/silent');
  await expect.poll(() => network.site.requests.length).toBe(1);
  await watched();
  const startedMs = performance.now();
  mine.end();
  await Promise.all([...tunnels.map(closed), download]);
  expect(performance.now() - startedMs).toBeLessThan(1000);
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
  await expect.poll(async () => (await fetchSite(lease, 'other.test')).status, { timeout: 5000 }).toBe(200);
  good.destroy();
});

it('says which rule of which layer refused, on the page and in the event', async () => {
  await start();
  const lease = network.lease({ deny: ['*.other.test'] });
  const answer = await fetchSite(lease, 'deep.other.test');
  expect(answer).toMatchObject({ status: 403, refusal: 'site_denied' });
  expect(answer.body).toContain('the session policy denies *.other.test');
  await expect
    .poll(() => network.controller.denials, { timeout: 5000 })
    .toEqual([
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
  const codes = () => network.controller.denials.filter(({ method }) => method === 'connect').map(({ code }) => code);
  await expect.poll(codes, { timeout: 5000 }).toEqual(['https_only']);
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
    OMICRON_EGRESS_WATCH_SECONDS: '0.2',
    OMICRON_EGRESS_CONFIRM_SECONDS: '2',
  });
  const lease = network.lease();
  const socket = await open(lease);
  network.controller.mode = 'down';
  await expect.poll(async () => (await fetchSite(lease)).refusal, { timeout: 5000 }).toBe('policy_unavailable');
  expect(socket.closed).toBe(false);
  await closed(socket);
});

it('closes everything when the time of the lease is up, without being told', async () => {
  await start({ OMICRON_EGRESS_WATCH_SECONDS: '5' });
  const lease = network.lease({}, 700);
  const socket = await open(lease);
  const startedMs = performance.now();
  await closed(socket);
  expect(performance.now() - startedMs).toBeLessThan(2500);
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
  expect(network.controller.counts.authorize).toBeLessThanOrEqual(2);
});

it('ends the lease of an older epoch when its runner speaks for a newer one', async () => {
  await start({ OMICRON_EGRESS_FRESH_SECONDS: '0.1', OMICRON_EGRESS_WATCH_SECONDS: '20' });
  const lease = network.lease();
  const socket = await open(lease);
  const held = network.controller.leases.get(lease.runnerId);
  if (held) held.grant = { ...held.grant, epoch: 2 };
  const asked = async () => (await fetchSite(lease)).status === 200 && network.controller.counts.authorize;
  await expect.poll(asked, { timeout: 5000 }).toBe(2);
  await closed(socket);
});

it('refuses a connection beyond the cap and takes it again when one has ended', async () => {
  await start({ OMICRON_EGRESS_CONNECTIONS_PER_LEASE: '3' });
  const lease = network.lease();
  const [first] = await Promise.all([open(lease), open(lease), open(lease)]);
  expect(await fetchSite(lease)).toMatchObject({ status: 429, refusal: 'too_many_connections' });
  first.destroy();
  await expect.poll(async () => (await fetchSite(lease)).status, { timeout: 5000 }).toBe(200);
});

it('closes a lease that has used up its bytes, within a second of traffic', async () => {
  await start({ OMICRON_EGRESS_BYTES_PER_LEASE: '1000000' });
  const [lease, other] = [network.lease(), network.lease()];
  const idle = await open(lease);
  expect((await fetchSite(lease, 'site.test', '/bytes?count=2000000')).status).toBe(200);
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
  const standsStill = () => {
    const still = sent > 0 && sent === before;
    before = sent;
    return still;
  };
  await expect.poll(standsStill, { timeout: 10_000, interval: 300 }).toBe(true);
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
  await expect.poll(() => network.logs.length, { timeout: 10_000 }).toBeGreaterThan(0);
  network.controller.mode = 'up';
  const sum = () => network.controller.denials.reduce((total, event) => total + event.count, 0);
  await expect.poll(sum, { timeout: 10_000 }).toBe(30);
  expect(network.controller.denials.length).toBeLessThan(10);
  expect(new Set(network.controller.denials.map(({ id }) => id)).size).toBe(network.controller.denials.length);
  expect(network.controller.denials[0]).toMatchObject({
    host: '169.254.169.254',
    address_class: 'metadata',
    code: 'internal_address',
  });
  expect(JSON.stringify([network.controller.denials, network.logs])).not.toMatch(/secret|token/);
});

it('cuts a connection on which nothing moves, and says so where an answer is still possible', async () => {
  await start({ OMICRON_EGRESS_IDLE_SECONDS: '0.3' });
  const lease = network.lease();
  const socket = await open(lease);
  expect(await fetchSite(lease, 'site.test', '/silent')).toMatchObject({ status: 504, refusal: 'upstream_timeout' });
  await closed(socket);
});
