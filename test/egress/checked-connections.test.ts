import { createServer } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { checkedConnections } from '../../egress/checked-connections.ts';
import { freePort } from '../../local/free-port.ts';
import { type DnsServer, dnsServer } from './dns-server.ts';
import { SSRF_VECTORS, SSRF_ZONE, vectorUrl } from './ssrf-vectors.ts';

let dns: DnsServer;
beforeAll(async () => {
  dns = await dnsServer({
    ...SSRF_ZONE,
    // public at the first look, and its own machine at each later one
    'rebinding.test': query => ({ a: [query === 0 ? '93.184.216.34' : '127.0.0.1'] }),
    'platform.omicron.svc.cluster.local': { a: ['127.0.0.1'] },
    'mixed.omicron.svc.cluster.local': { a: ['127.0.0.1', '10.0.0.1'] },
  });
});
afterAll(() => dns.close());

const connections = (allowed: readonly string[] = []) =>
  checkedConnections({
    denied: ['93.184.216.0/24'],
    allowed,
    dnsServers: [dns.address],
    lookupMs: 2_000,
    connectMs: 2_000,
  });
const signal = () => AbortSignal.timeout(10_000);

test('no spelling of an address that browsers may not reach is opened or looked behind', async () => {
  const port = await freePort();
  const hits: number[] = [];
  const trap = createServer(socket => {
    hits.push(socket.remotePort ?? 0);
    socket.destroy();
  });
  await new Promise<void>(done => trap.listen(port, '127.0.0.1', done));
  let judged = 0;
  for (const vector of SSRF_VECTORS) {
    const url = URL.parse(vectorUrl(vector, port));
    if (url === null || !/^https?:$/.test(url.protocol)) continue;
    judged += 1;
    expect([vector.name, await connections().judge(url, signal())]).toEqual([
      vector.name,
      { why: expect.any(String), forbidden: expect.any(Boolean) },
    ]);
    expect([vector.name, await connections().open(url, signal())]).toEqual([
      vector.name,
      expect.objectContaining({ why: expect.any(String) }),
    ]);
  }
  expect(judged).toBeGreaterThan(120);
  expect(hits).toEqual([]);
  await new Promise(done => trap.close(done));
});

test('a name is resolved once, and the addresses of that answer are judged and connected to', async () => {
  const url = new URL('https://rebinding.test/');
  expect(await connections().open(url, signal())).toEqual({
    why: 'is an address of an internal network (deployment)',
    forbidden: true,
  });
  expect(dns.queries.get('rebinding.test/A')).toBe(1);
  expect(await connections().open(url, signal())).toEqual({
    why: 'is an address of an internal network (loopback)',
    forbidden: true,
  });
});

test('a range that the deployment opens is reached, by http and by names of its network too; every address must be in it', async () => {
  const opened = connections(['127.0.0.1/32']);
  expect(await opened.judge(new URL('http://127.0.0.1:8080/'), signal())).toBeUndefined();
  expect(await opened.judge(new URL('http://platform.omicron.svc.cluster.local/'), signal())).toBeUndefined();
  expect(await opened.judge(new URL('https://mixed.omicron.svc.cluster.local/'), signal())).toEqual({
    why: 'is a name of an internal network',
    forbidden: true,
  });
  expect(await opened.judge(new URL('http://10.0.0.1/'), signal())).toMatchObject({ forbidden: true });
  expect(await opened.judge(new URL('http://1.1.1.1/'), signal())).toEqual({
    why: 'is reached by https alone',
    forbidden: true,
  });
});
