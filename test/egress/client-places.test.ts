import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { eventually } from '../eventually.ts';
import { type ProxyNetwork, proxyNetwork, type TestLease } from './proxy-network.ts';
import { basic, get, isAnswer, type RawAnswer, tunnel } from './raw-client.ts';

/** Attacks on the places of the proxy: 60 for all leases, 10 for each, unless a test says otherwise. */
const PLACES = 60;
const PER_LEASE = 10;

let network: ProxyNetwork;
const clients: Socket[] = [];
afterEach(async () => {
  for (const client of clients.splice(0)) client.destroy();
  await network.close();
});

const start = async (environment: Record<string, string> = {}) => {
  network = await proxyNetwork(
    {},
    {
      OMICRON_EGRESS_CLIENTS_MAX: String(PLACES),
      OMICRON_EGRESS_CONNECTIONS_PER_LEASE: String(PER_LEASE),
      ...environment,
    },
  );
};
const url = (path = '/') => `http://site.test:${network.site.port}${path}`;
const fetchSite = (lease: TestLease): Promise<RawAnswer> => get(network.egress.port, lease.auth, url());
const dial = async (bytes: string, from = '127.0.0.1'): Promise<Socket> => {
  const socket = connect({ host: '127.0.0.1', port: network.egress.port, localAddress: from }).on('error', () => {});
  clients.push(socket);
  await once(socket, 'connect');
  if (bytes) socket.write(bytes);
  return socket;
};
const times = <T>(count: number, make: () => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, make));
/** A connection that has been answered and is kept, as HTTP/1.1 allows. */
const keptAlive = async (lease: TestLease, next = ''): Promise<Socket> => {
  const socket = await dial(`GET ${url()} HTTP/1.1\r\nHost: x\r\n${lease.auth}\r\n`);
  await once(socket, 'data');
  if (next) socket.write(next);
  return socket.resume();
};
const openTunnel = async (lease: TestLease): Promise<Socket> => {
  const outcome = await tunnel(network.egress.port, lease.auth, `site.test:${network.site.port}`);
  if (isAnswer(outcome)) throw new Error(`refused: ${outcome.refusal}`);
  clients.push(outcome);
  return outcome.resume();
};
const metric = async (line: string): Promise<number> => {
  const text = await (await fetch(`http://127.0.0.1:${network.egress.adminPort}/metrics`)).text();
  return Number(
    text
      .split('\n')
      .find(other => other.startsWith(`${line} `))
      ?.split(' ')[1] ?? 0,
  );
};
const clientsNow = (state: string) => metric(`omicron_egress_clients{state="${state}"}`);
const isOpen = (socket: Socket) => !socket.closed && !socket.readableEnded;

const heads: [string, () => string][] = [
  ['of a request', () => `GET ${url()} HTTP/1.1\r\nHost: x\r\n`],
  ['of a request with a known credential', () => `GET ${url()} HTTP/1.1\r\nHost: x\r\n${network.lease().auth}`],
  ['of a CONNECT', () => `CONNECT site.test:${network.site.port} HTTP/1.1\r\n${network.lease().auth}`],
  ['of a websocket', () => `GET ${url('/socket')} HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n`],
  ['that is empty', () => ''],
  ['that is only line breaks', () => '\r\n\r\n'],
  ['of TLS', () => '\u0016'],
];
it.each(heads)('serves every lease while heads %s never end', async (_name, head) => {
  await start();
  await times(3 * PLACES, () => dial(head()));
  for (const lease of [network.lease(), network.lease()]) {
    expect((await fetchSite(lease)).status).toBe(200);
    expect(isOpen(await openTunnel(lease))).toBe(true);
  }
});

it('keeps at most a thousand connections of one peer that have not said who they are, and closes the oldest', async () => {
  await start();
  const head = `GET ${url()} HTTP/1.1\r\nHost: x\r\n`;
  const other = await dial(head, '127.0.0.2');
  const own: Socket[] = [];
  for (let i = 0; i < 12; i++) own.push(...(await times(100, () => dial(head))));
  await eventually('the oldest are closed', async () => (await clientsNow('unauthenticated')) === 1001);
  await eventually('their clients know', () => own.filter(isOpen).length === 1000);
  expect(own.slice(0, 100).some(isOpen)).toBe(false);
  expect(own.slice(-100).every(isOpen)).toBe(true);
  expect(isOpen(other)).toBe(true);
  expect(await metric('omicron_egress_clients_closed_total{reason="unauthenticated"}')).toBe(200);
  expect((await fetchSite(network.lease())).status).toBe(200);
});

it('closes a connection that does not say who it is in time, however it trickles', async () => {
  await start({ OMICRON_EGRESS_HEAD_SECONDS: '0.3' });
  const lease = network.lease();
  const slow = await times(3, () => dial('GET '));
  const wrong = await dial(`GET ${url()} HTTP/1.1\r\nHost: x\r\n${basic(lease.runnerId, 'guess')}\r\n`);
  const breaks = await dial('\r\n');
  const trickle = setInterval(() => breaks.writable && breaks.write('\r\n'), 50);
  await eventually('all are closed', () => [...slow, wrong.resume(), breaks.resume()].every(client => !isOpen(client)));
  clearInterval(trickle);
  await eventually('no place is held', async () => (await clientsNow('unauthenticated')) === 0);
});

const afterwards: [string, string][] = [
  ['idle', ''],
  ['with half of another head', 'GET http://site.test/ HTTP/1.1\r\n'],
  ['with line breaks', '\r\n'],
];
it.each(afterwards)(
  'counts kept connections against their lease and closes its oldest first: %s',
  async (_name, next) => {
    await start();
    const [greedy, other] = [network.lease(), network.lease()];
    const kept: Socket[] = [];
    for (let i = 0; i < PLACES + 5; i++) kept.push(await keptAlive(greedy, next));
    await eventually('ten are left', () => kept.filter(isOpen).length === PER_LEASE);
    expect(kept.slice(-PER_LEASE).every(isOpen)).toBe(true);
    expect(await clientsNow('idle')).toBe(PER_LEASE);
    expect((await fetchSite(other)).status).toBe(200);
    expect((await fetchSite(greedy)).status).toBe(200);
  },
);

it('closes an idle connection of any lease, the oldest first, when all places are taken', async () => {
  await start({ OMICRON_EGRESS_CLIENTS_MAX: '6' });
  const leases = [network.lease(), network.lease(), network.lease()];
  const kept: Socket[] = [];
  for (const lease of [...leases, ...leases]) kept.push(await keptAlive(lease));
  expect((await fetchSite(network.lease())).status).toBe(200);
  await eventually('one is closed', () => kept.filter(isOpen).length === 5);
  expect(kept.map(isOpen).indexOf(false)).toBe(0);
});

it('refuses a connection beyond those of its lease, keeps what is open, and serves other leases', async () => {
  await start();
  const [greedy, other] = [network.lease(), network.lease()];
  const open = await times(PER_LEASE, () => openTunnel(greedy));
  const answers = await times(PLACES, () => fetchSite(greedy));
  for (const answer of answers) expect(answer).toMatchObject({ status: 429, refusal: 'too_many_connections' });
  expect(open.every(isOpen)).toBe(true);
  expect((await fetchSite(other)).status).toBe(200);
});

it('gives a lease a place when others are busy in all of them: the lease that holds the most gives one up', async () => {
  await start({ OMICRON_EGRESS_CLIENTS_MAX: '8', OMICRON_EGRESS_CONNECTIONS_PER_LEASE: '100' });
  const [greedy, small, late] = [network.lease(), network.lease(), network.lease()];
  const few = await times(2, () => openTunnel(small));
  const many: Socket[] = [];
  for (let i = 0; i < 6; i++) many.push(await openTunnel(greedy));
  const answer = await fetchSite(greedy);
  expect(answer).toMatchObject({ status: 503, refusal: 'proxy_full' });
  expect(answer.headers['retry-after']).toBe('2');
  expect(isOpen(await openTunnel(late))).toBe(true);
  await eventually('one is given up', () => many.filter(isOpen).length === 5);
  expect(many.map(isOpen).indexOf(false)).toBe(0);
  expect(few.every(isOpen)).toBe(true);
});

it('closes the idle connections of a lease that has ended', async () => {
  await start();
  const [lease, other] = [network.lease(), network.lease()];
  const [gone, kept] = [await keptAlive(lease), await keptAlive(other)];
  await eventually('the leases are watched', () => network.controller.counts.watch > 1);
  lease.end();
  await eventually('the connection is closed', () => !isOpen(gone));
  expect(isOpen(kept)).toBe(true);
});

it('counts a connection for the lease that it last spoke for', async () => {
  await start();
  const [one, two] = [network.lease(), network.lease()];
  const shared = await keptAlive(one);
  shared.write(`GET ${url()} HTTP/1.1\r\nHost: x\r\n${two.auth}\r\n`);
  await eventually('both are served', () => network.site.requests.length === 2);
  await times(PER_LEASE - 1, () => openTunnel(two));
  expect(isOpen(await openTunnel(two))).toBe(true);
  await eventually('it gave way to a tunnel of the second', () => !isOpen(shared));
});

it('looks up a lease while another peer tries credentials that take long to refuse', async () => {
  await start();
  const [known, fresh] = [network.lease(), network.lease()];
  expect((await fetchSite(known)).status).toBe(200);
  network.controller.mode = 'hung';
  const guess = () => `GET ${url()} HTTP/1.1\r\nHost: x\r\n${basic(randomUUID(), 'guess')}\r\n`;
  const guesses = await times(2 * PLACES, async () => (await dial(guess())).resume());
  await eventually('those beyond the limit are refused', () => guesses.filter(isOpen).length === 48);
  network.controller.mode = 'up';
  const socket = await dial(`GET ${url()} HTTP/1.1\r\nHost: x\r\n${fresh.auth}\r\n`, '127.0.0.2');
  expect(String(await once(socket, 'data'))).toContain('200 OK');
  expect((await fetchSite(known)).status).toBe(200);
});

it('closes a connection that sends many requests ahead of their answers', async () => {
  await start({ OMICRON_EGRESS_CONNECTIONS_PER_LEASE: '1000' });
  const lease = network.lease();
  const socket = await dial(`GET ${url('/silent')} HTTP/1.1\r\nHost: x\r\n${lease.auth}\r\n`.repeat(100));
  await eventually('it is closed', () => !isOpen(socket.resume()));
  expect(network.site.requests.length).toBeLessThanOrEqual(32);
});

it('serves a burst of one peer, larger than all places of a lease without one', async () => {
  await start({ OMICRON_EGRESS_CLIENTS_MAX: '1000', OMICRON_EGRESS_CONNECTIONS_PER_LEASE: '600' });
  const lease = network.lease();
  const answers = await times(500, () => fetchSite(lease));
  expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
});
