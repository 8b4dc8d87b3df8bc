import { afterAll, beforeAll, expect, it } from 'vitest';
import { dnsResolver, type NameResolver } from '../../egress/resolve.ts';
import { type DnsServer, dnsServer } from './dns-server.ts';

let server: DnsServer;
let resolver: NameResolver;
beforeAll(async () => {
  server = await dnsServer({
    'both.test': { a: ['192.0.2.1', '192.0.2.2'], aaaa: ['2001:db8::1'] },
    'drops-aaaa.test': { a: ['192.0.2.1'], silent: 'AAAA' },
    'drops-a.test': { aaaa: ['2001:db8::1'], silent: 'A' },
    'empty-then-silent.test': { silent: 'AAAA' },
    'silent.test': { silent: true },
    'fails.test': { rcode: 'SERVFAIL' },
  });
  resolver = dnsResolver({ servers: [server.address], timeoutMs: 1_500 });
});
afterAll(() => server.close());

const resolve = (name: string) => resolver.resolve(name, new AbortController().signal);

it('answers with the addresses of both families', async () => {
  const addresses = (await resolve('both.test')) as readonly string[]; // not a refusal
  expect([...addresses].sort()).toEqual(['192.0.2.1', '192.0.2.2', '2001:db8::1']);
});

it.each([
  ['drops-aaaa.test', '192.0.2.1'],
  ['drops-a.test', '2001:db8::1'],
])('answers with one family where the DNS server never answers for the other: %s', async (name, address) => {
  expect(await resolve(name)).toEqual([address]);
});

it.each([
  ['silent.test', 'dns_timeout'],
  ['fails.test', 'dns_failed'],
  ['none.test', 'name_not_found'],
  ['empty-then-silent.test', 'dns_timeout'],
])('says why there is no address: %s', async (name, refused) => {
  expect(await resolve(name)).toEqual({ refused });
});

it('ends when it is aborted, without an address', async () => {
  const stop = new AbortController();
  const answer = resolver.resolve('silent.test', stop.signal);
  stop.abort();
  expect(await answer).toEqual({ refused: 'dns_timeout' });
});

it('asks once for a name that many want at a time, and again for one that comes later', async () => {
  const asked = () => server.queries.get('both.test/A') ?? 0;
  const before = asked();
  const answers = await Promise.all(Array.from({ length: 300 }, () => resolve('both.test')));
  expect(new Set(answers.map(answer => [...(answer as string[])].sort().join()))).toEqual(
    new Set(['192.0.2.1,192.0.2.2,2001:db8::1']),
  );
  expect(asked()).toBe(before + 1);
  await resolve('both.test');
  expect(asked()).toBe(before + 2);
});
