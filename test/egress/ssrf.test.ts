import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RefusalCode } from '../../contract/egress.ts';
import { eventually } from '../eventually.ts';
import { type ProxyNetwork, proxyNetwork, type TestLease } from './proxy-network.ts';
import { get, isAnswer, type RawAnswer, tunnel, upgrade } from './raw-client.ts';
import { PUBLIC_ADDRESS } from './sites.ts';
import { SSRF_VECTORS, SSRF_ZONE, vectorUrl } from './ssrf-vectors.ts';

let network: ProxyNetwork;
let lease: TestLease;
beforeAll(async () => {
  network = await proxyNetwork(SSRF_ZONE);
  lease = network.lease();
});
afterAll(() => network.close());

/** Refusals by a check; a failure to connect would mean that a connection was attempted. */
const JUDGED: readonly RefusalCode[] = [
  'internal_address',
  'internal_name',
  'mixed_addresses',
  'bad_request',
  'port_refused',
];

function expectJudged(answer: RawAnswer): void {
  expect(JUDGED).toContain(answer.refusal);
  expect(answer.body).not.toContain('SECRET');
  expect(network.trap.hits).toEqual([]);
}

const connect = async (authority: string): Promise<RawAnswer> => {
  const outcome = await tunnel(network.egress.port, lease.auth, authority);
  if (isAnswer(outcome)) return outcome;
  outcome.destroy();
  throw new Error(`a tunnel to ${authority} was opened`);
};

it('has at least 150 vectors, each with a name of its own', () => {
  expect(SSRF_VECTORS.length).toBeGreaterThanOrEqual(150);
  expect(new Set(SSRF_VECTORS.map(({ name }) => name)).size).toBe(SSRF_VECTORS.length);
});

describe.each(SSRF_VECTORS.map(vector => [vector.name, vector] as const))('%s', (_name, vector) => {
  const bytes = (text: string) => Buffer.from(text, 'utf8').toString('latin1');

  it('is refused as a client spells it: plain, tunnel, websocket', async () => {
    const url = vectorUrl(vector, network.trap.port);
    // A raw line cannot hold line ends; everything else goes out as it stands.
    if (!/[\t\n]/.test(url)) {
      expectJudged(await get(network.egress.port, lease.auth, bytes(url)));
      expectJudged(await upgrade(network.egress.port, lease.auth, bytes(url)));
      const authority = /^http:\/\/([^/]*)\//i.exec(url)?.[1];
      if (authority) expectJudged(await connect(bytes(authority)));
    }
  });

  it('is refused as a browser would spell it, and behind every kind of redirect', async () => {
    const url = URL.parse(vectorUrl(vector, network.trap.port));
    if (!url) return; // a browser would not go there either
    expectJudged(await get(network.egress.port, lease.auth, `http://${url.host}${url.pathname}`));
    expectJudged(await connect(`${url.hostname}:${url.port || 80}`));
    for (const status of [301, 302, 303, 307, 308]) {
      const to = encodeURIComponent(url.href);
      const first = await get(
        network.egress.port,
        lease.auth,
        `http://site.test:${network.site.port}/redirect?status=${status}&to=${to}`,
      );
      expect(first.status).toBe(status);
      const next = new URL(first.headers.location ?? '');
      expectJudged(await get(network.egress.port, lease.auth, `http://${next.host}${next.pathname}`));
    }
  });
});

it('looks a name up once and dials that answer, though the next answer would be internal', async () => {
  const answer = await get(network.egress.port, lease.auth, `http://rebind.attack.test:${network.site.port}/rebound`);
  expect(answer).toMatchObject({ status: 200, body: 'GET /rebound' });
  expect(network.dns.queries.get('rebind.attack.test/A')).toBe(1);
  expectJudged(await get(network.egress.port, lease.auth, `http://rebind.attack.test:${network.trap.port}/`));
});

it('checks every lookup again when a name flips between public and internal', async () => {
  for (let round = 0; round < 20; round++) {
    const answer = await get(network.egress.port, lease.auth, `http://flip.attack.test:${network.trap.port}/`);
    expect(answer.refusal).toBe(round % 2 === 0 ? undefined : 'internal_address');
  }
  expect(network.trap.hits).toEqual([]);
});

it('never connects to itself, even where the address is declared reachable', async () => {
  const own = await proxyNetwork({ 'me.test': { a: ['127.0.0.1'] } }, { OMICRON_EGRESS_ALLOWED_CIDRS: '127.0.0.0/8' });
  try {
    for (const port of [own.egress.port, own.egress.adminPort]) {
      const { auth } = own.lease({ ports: [port] });
      for (const host of ['127.0.0.1', '127.9.9.9', 'me.test'])
        expect((await get(own.egress.port, auth, `http://${host}:${port}/metrics`)).refusal).toBe('internal_address');
    }
  } finally {
    await own.close();
  }
});

it('takes localhost for the loopback addresses that are declared reachable, without a lookup', async () => {
  const zone = { localhost: { a: [PUBLIC_ADDRESS] }, 'x.localhost': { a: ['127.0.0.1'] } };
  const own = await proxyNetwork(zone, { OMICRON_EGRESS_ALLOWED_CIDRS: '127.0.0.1/32' });
  try {
    const port = own.trap.port;
    const { auth } = own.lease({ ports: [port, own.egress.port] });
    for (const host of ['localhost', 'LOCALHOST', 'localhost.'])
      expect((await get(own.egress.port, auth, `http://${host}:${port}/`)).refusal).toBeUndefined();
    expect(own.trap.hits).toHaveLength(3);
    expect((await get(own.egress.port, auth, `http://x.localhost:${port}/`)).refusal).toBe('internal_name');
    expect((await get(own.egress.port, auth, `http://localhost:${own.egress.port}/`)).refusal).toBe('internal_name');
    const { auth: named } = own.lease({ ports: [port], allow: ['localhost'] });
    expect((await get(own.egress.port, named, `http://localhost:${port}/`)).refusal).toBeUndefined();
  } finally {
    await own.close();
  }
});

it("refuses the deployment's own ranges, which no table knows", async () => {
  const own = await proxyNetwork(
    { 'office.test': { a: ['93.184.216.34'] }, 'cluster.test': { aaaa: ['2600:1f00::1'] } },
    { OMICRON_EGRESS_DENIED_CIDRS: '93.184.216.0/24, 2600:1f00::/32' },
  );
  try {
    const { auth } = own.lease();
    for (const host of ['office.test', '93.184.216.34', '1572395042', 'cluster.test', '[2600:1f00::1]'])
      expect((await get(own.egress.port, auth, `http://${host}/`)).refusal).toBe('internal_address');
    await eventually('the denial is reported', () =>
      own.controller.denials.some(event => 'address_class' in event && event.address_class === 'deployment'),
    );
  } finally {
    await own.close();
  }
});
