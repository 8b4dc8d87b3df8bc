import fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import { expect, it } from 'vitest';
import { addressClassifier, DENIED_RANGES } from '../../egress/address.ts';
import { parseAbsolute, parseAuthority } from '../../egress/target.ts';
import { spellings } from './ssrf-vectors.ts';

const { classify } = addressClassifier({ denied: [], allowed: [] });

/**
 * The ranges of the requirement (hardening sheet), written out once more so that the table cannot shrink unnoticed.
 */
const REQUIRED = [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24'],
  ...['192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24'],
  ...['224.0.0.0/4', '240.0.0.0/4', '168.63.129.16/32'],
  ...[
    '::/96',
    '::ffff:0:0/96',
    '64:ff9b::/96',
    '64:ff9b:1::/48',
    '100::/64',
    '2001::/23',
    '2001:db8::/32',
    '2002::/16',
  ],
  ...['fc00::/7', 'fe80::/10', 'fec0::/10', 'ff00::/8'],
];

/** An address inside a range: the range's own bits, random ones after them. */
const within = (cidr: string) => {
  const [network, bits] = ipaddr.parseCIDR(cidr);
  const base = network.toByteArray();
  return fc.uint8Array({ minLength: base.length, maxLength: base.length }).map(random =>
    ipaddr
      .fromByteArray(
        base.map((byte, i) => {
          const kept = Math.max(0, Math.min(8, bits - i * 8));
          const mask = (0xff << (8 - kept)) & 0xff;
          return (byte & mask) | ((random[i] ?? 0) & ~mask & 0xff);
        }),
      )
      .toString(),
  );
};

const denied4 = fc.oneof(...REQUIRED.filter(cidr => cidr.includes('.') && !cidr.includes(':')).map(within));
const denied6 = fc.oneof(...REQUIRED.filter(cidr => cidr.includes(':')).map(within));
const anyIpv4 = fc.ipV4();

it.each([...REQUIRED, ...Object.values(DENIED_RANGES).flat()])(
  'denies all of %s, its first and last address too',
  cidr => {
    const [network] = ipaddr.parseCIDR(cidr);
    const kind = network.kind() === 'ipv4' ? ipaddr.IPv4 : ipaddr.IPv6;
    for (const edge of [
      kind.networkAddressFromCIDR(cidr),
      ...(kind === ipaddr.IPv4 ? [ipaddr.IPv4.broadcastAddressFromCIDR(cidr)] : []),
    ])
      expect(classify(edge.toString())).not.toBe('public');
    fc.assert(
      fc.property(within(cidr), address => classify(address) !== 'public'),
      { numRuns: 200 },
    );
  },
);

it('denies a denied IPv4 address in every spelling that reads as an address', () => {
  fc.assert(
    fc.property(denied4, address => {
      for (const spelt of [address, ...spellings(address)]) {
        const viaTunnel = parseAuthority(`${spelt}:443`, null);
        const viaUrl = parseAbsolute(`http://${spelt}/`)?.target ?? null;
        for (const target of [viaTunnel, viaUrl]) {
          expect(target).toMatchObject({ host: address, isAddress: true });
          expect(classify(target?.host ?? '')).not.toBe('public');
        }
      }
    }),
    { numRuns: 500 },
  );
});

it('denies a denied IPv6 address in every spelling', () => {
  fc.assert(
    fc.property(denied6, address => {
      const parsed = ipaddr.IPv6.parse(address);
      for (const spelt of [address, parsed.toNormalizedString(), parsed.toRFC5952String(), address.toUpperCase()]) {
        const target = parseAuthority(`[${spelt}]:443`, null);
        expect(target?.isAddress).toBe(true);
        expect(classify(target?.host ?? '')).not.toBe('public');
      }
    }),
    { numRuns: 500 },
  );
});

it('denies every IPv4 address that hides in an IPv6 one, public or not', () => {
  fc.assert(
    fc.property(anyIpv4, address => {
      const hex = ipaddr.IPv4.parse(address)
        .toByteArray()
        .map(byte => byte.toString(16).padStart(2, '0'))
        .join('');
      const [high, low] = [hex.slice(0, 4), hex.slice(4)];
      for (const hidden of [
        ...[`::ffff:${address}`, `::ffff:${high}:${low}`, `::${address}`, `::ffff:0:${address}`],
        ...[`64:ff9b::${address}`, `64:ff9b:1::${high}:${low}`, `2002:${high}:${low}::1`, `2001:0:${high}:${low}::1`],
        ...[`2600:1f00::5efe:${high}:${low}`, `2600:1f00::200:5efe:${high}:${low}`],
      ])
        expect([hidden, parseAuthority(`[${hidden}]:1`, null)?.isAddress, classify(hidden)]).not.toContain('public');
    }),
    { numRuns: 500 },
  );
});

it('lets a public address through in every spelling', () => {
  const required = REQUIRED.map(cidr => ipaddr.parseCIDR(cidr));
  const metadata = new Set<string>(DENIED_RANGES.metadata.map(cidr => cidr.split('/')[0] ?? ''));
  const isPublic = (text: string) => {
    const address = ipaddr.parse(text);
    return (
      !metadata.has(text) && !required.some(([net, bits]) => net.kind() === address.kind() && address.match(net, bits))
    );
  };
  fc.assert(
    fc.property(anyIpv4.filter(isPublic), address => {
      for (const spelt of [address, ...spellings(address)])
        expect(classify(parseAuthority(`${spelt}:80`, null)?.host ?? '')).toBe('public');
    }),
    { numRuns: 500 },
  );
  for (const address of [
    '8.8.8.8',
    '1.1.1.1',
    '93.184.216.34',
    '172.15.255.255',
    '172.32.0.0',
    '100.63.255.255',
    '100.128.0.0',
  ])
    expect(classify(address)).toBe('public');
  for (const address of ['2606:4700:4700::1111', '2a00:1450:4001:82a::200e', '2600:1f00::1', '2001:4860:4860::8888'])
    expect(classify(address)).toBe('public');
});

it('takes anything that is not exactly one address for reserved', () => {
  fc.assert(
    fc.property(
      fc.string().filter(text => !ipaddr.isValid(text)),
      text => classify(text) === 'reserved',
    ),
  );
  for (const text of ['', '127.1', '0x7f000001', 'fe80::1%lo', '[::1]', '1.2.3.4 ', '01.2.3.4'])
    expect(classify(text)).toBe('reserved');
});

it('puts the allowed ranges of a deployment before everything and its denied ranges before the public', () => {
  const own = addressClassifier({ denied: ['8.8.0.0/16', '2600::/16'], allowed: ['10.1.0.0/16', '8.8.8.8/32'] });
  expect(own.classify('10.1.2.3')).toBe('public');
  expect(own.classify('10.2.0.1')).toBe('private');
  expect(own.classify('8.8.4.4')).toBe('deployment');
  expect(own.classify('8.8.8.8')).toBe('public');
  expect(own.classify('2600::1')).toBe('deployment');
  expect(own.classify('::ffff:10.1.2.3')).toBe('transition');
});

it('never reads a target that a browser would not write, and never throws on any text', () => {
  for (const text of [
    'a b:80',
    'u@h.test:80',
    'h.test\\@x:80',
    'h.test:80:80',
    'h.test:0',
    'h.test:65536',
    'h.test:',
    ':80',
    '',
    '[::1:80',
    '::1:80',
    'h%2etest:80',
    'h..test:80',
    '1.2.3.4.5:80',
    '[fe80::1%25lo]:80',
    'ü.test:80',
    'h.test:8e1',
    'h.test:+80',
    '*.test:80',
    '-a.test:80',
  ])
    expect([text, parseAuthority(text, null)]).toEqual([text, null]);
  for (const text of [
    '/path',
    'https://a.test/',
    'ftp://a.test/',
    'http:/a.test',
    'http://u:p@a.test/',
    'http://a.test\\@b.test/',
    'http://a.test/\u00e9',
    'http://',
    'http://a.test/#x',
    '*',
    'a.test:80',
  ])
    expect([text, parseAbsolute(text)]).toEqual([text, null]);
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary' }),
      text => void [parseAuthority(text, 80), parseAbsolute(text), parseAbsolute(`http://${text}`)],
    ),
    { numRuns: 2000 },
  );
});
