import type { Zone } from './dns-server.ts';
import { PUBLIC_ADDRESS } from './sites.ts';

/**
 * Ways to name a place that no browser may reach. `authority` is what stands between `//` and the path, `PORT` for
 * the trap's port; `url` vectors are whole addresses whose parser is the attacked part. `needsDns` vectors mean
 * something under `SSRF_ZONE` only. None of them may ever reach the trap, nor be answered by anything but a refusal.
 */
export type SsrfVector =
  | { readonly name: string; readonly authority: string; readonly needsDns?: true }
  | { readonly name: string; readonly url: string };

const ADDRESSES_4 = {
  loopback: ['127.0.0.1', '127.0.0.2', '127.1.2.3', '127.255.255.254'],
  unspecified: ['0.0.0.0', '0.1.2.3'],
  private: ['10.0.0.1', '10.255.255.255', '172.16.0.1', '172.31.255.254', '192.168.0.1', '192.168.255.254'],
  metadata: ['169.254.169.254', '169.254.170.2', '169.254.170.23', '168.63.129.16', '100.100.100.200'],
  'link-local': ['169.254.0.1'],
  'carrier-grade NAT': ['100.64.0.1', '100.127.255.254'],
  documentation: ['192.0.2.1', '198.51.100.1', '203.0.113.1'],
  benchmark: ['198.18.0.1', '198.19.255.254'],
  '6to4 relay': ['192.88.99.1'],
  protocol: ['192.0.0.1'],
  multicast: ['224.0.0.1', '239.255.255.255'],
  reserved: ['240.0.0.1', '255.255.255.255'],
} as const;

const ADDRESSES_6 = {
  loopback: ['::1', '0:0:0:0:0:0:0:1', '0000:0000:0000:0000:0000:0000:0000:0001'],
  unspecified: ['::'],
  mapped: [
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '::FFFF:169.254.169.254',
    '::ffff:10.0.0.1',
    '0:0:0:0:0:ffff:7f00:0001',
  ],
  compatible: ['::127.0.0.1', '::7f00:1', '::a9fe:a9fe'],
  translated: ['::ffff:0:127.0.0.1'],
  NAT64: ['64:ff9b::127.0.0.1', '64:ff9b::a9fe:a9fe', '64:ff9b:1::7f00:1'],
  '6to4': ['2002:7f00:1::', '2002:a9fe:a9fe::1', '2002:a00:1::'],
  Teredo: ['2001:0:7f00:1::1', '2001::80ff:fffe'],
  ISATAP: ['2600:1f00::5efe:7f00:1', '2600:1f00::200:5efe:a00:1'],
  'unique local': ['fc00::1', 'fd12:3456:789a::1'],
  metadata: ['fd00:ec2::254', 'fd00:ec2::23'],
  'link-local': ['fe80::1', 'febf::1'],
  'site-local': ['fec0::1'],
  multicast: ['ff02::1', 'ff05::2'],
  documentation: ['2001:db8::1', '3fff::1'],
  discard: ['100::1'],
  'outside global unicast': ['4000::1', '5f00::1'],
} as const;

/** Other spellings of an IPv4 address that some parser takes. */
export function spellings(address: string): string[] {
  const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number);
  const whole = ((a << 24) | (b << 16) | (c << 8) | d) >>> 0;
  const hex = (n: number) => `0x${n.toString(16)}`;
  const octal = (n: number) => `0${n.toString(8)}`;
  return [
    String(whole),
    hex(whole),
    hex(whole).toUpperCase(),
    octal(whole),
    [a, b, c, d].map(hex).join('.'),
    [a, b, c, d].map(octal).join('.'),
    [a, b, c, d].map(n => `0000${n.toString(8)}`).join('.'),
    `${hex(a)}.${octal(b)}.${c}.${d}`,
    `${a}.${(b << 16) | (c << 8) | d}`,
    `${a}.${b}.${(c << 8) | d}`,
    `${hex(a)}.${hex((b << 16) | (c << 8) | d)}`,
    `${address}.`,
  ];
}

const percent = (text: string) => [...text].map(char => `%${char.charCodeAt(0).toString(16)}`).join('');
const shifted = (text: string, zero: number) =>
  text.replace(/[0-9]/g, digit => String.fromCodePoint(zero + Number(digit)));
const enclosed = (text: string) =>
  text.replace(/[0-9]/g, digit => (digit === '0' ? '\u24ea' : String.fromCodePoint(0x2460 + Number(digit) - 1)));

const NAMES = [
  'localhost',
  'LOCALHOST',
  'localhost.',
  'LocalHost.LocalDomain',
  'anything.localhost',
  'kubernetes',
  'kubernetes.default.svc',
  'kubernetes.default.svc.cluster.local',
  'kubernetes.default.svc.cluster.local.',
  'browser-session-controller.omicron-browser-system.svc',
  'metadata',
  'metadata.google.internal',
  'METADATA.GOOGLE.INTERNAL.',
  'instance-data.ec2.internal',
  'ip-10-0-0-1.eu-west-1.compute.internal',
  'host.docker.internal',
  'gateway.docker.internal',
  'printer.local',
  'router.lan',
  'router.home.arpa',
  'egress-proxy',
] as const;

/** `svc` and the like resolve here, so that only the judgement on the name keeps them out. */
const namesZone: Zone = Object.fromEntries(
  NAMES.map(name => [name.toLowerCase().replace(/\.$/, ''), { a: [PUBLIC_ADDRESS] }]),
);

const dnsNames: Record<string, Zone[string]> = {};
const dnsVectors: SsrfVector[] = [];
function dnsVector(label: string, name: string, entry: Zone[string]): void {
  dnsNames[name] = entry;
  dnsVectors.push({ name: `DNS: ${label}`, authority: `${name}:PORT`, needsDns: true });
}
for (const [kind, list] of Object.entries(ADDRESSES_4))
  for (const address of list)
    dnsVector(`A ${address} (${kind})`, `a-${address.replaceAll('.', '-')}.attack.test`, { a: [address] });
for (const [kind, list] of Object.entries(ADDRESSES_6)) {
  const [address] = list;
  dnsVector(`AAAA only ${address} (${kind})`, `aaaa-${kind.toLowerCase().replaceAll(' ', '-')}.attack.test`, {
    aaaa: [address],
  });
}
dnsVector('public and loopback mixed', 'mixed.attack.test', { a: [PUBLIC_ADDRESS, '127.0.0.1'] });
dnsVector('loopback and public mixed', 'mixed-first.attack.test', { a: ['127.0.0.1', PUBLIC_ADDRESS] });
dnsVector('public A, internal AAAA', 'mixed-family.attack.test', { a: [PUBLIC_ADDRESS], aaaa: ['::1'] });
dnsVector('public A, mapped AAAA', 'mixed-mapped.attack.test', { a: [PUBLIC_ADDRESS], aaaa: ['::ffff:127.0.0.1'] });
dnsVector('CNAME to internal', 'cname.attack.test', { cname: 'a-127-0-0-1.attack.test' });
dnsVector('CNAME chain to internal', 'cname-chain.attack.test', { cname: 'cname.attack.test' });
dnsVector('CNAME to metadata', 'cname-metadata.attack.test', { cname: 'a-169-254-169-254.attack.test' });
dnsVector('address in the name', '127.0.0.1.attack.test', { a: ['127.0.0.1'] });
dnsVector('number in the name', '2130706433.attack.test', { a: ['127.0.0.1'] });
dnsVector('trailing dot', 'dotted.attack.test', { a: ['127.0.0.1'] });
dnsVector('wild case', 'WiLd.AtTaCk.TeSt', { a: ['127.0.0.1'] });
dnsNames['wild.attack.test'] = { a: ['127.0.0.1'] };

export const SSRF_ZONE: Zone = {
  ...namesZone,
  ...dnsNames,
  // Public at the first lookup, internal afterwards: checking one lookup and dialling another would fail.
  'rebind.attack.test': query => ({ a: [query === 0 ? PUBLIC_ADDRESS : '127.0.0.1'] }),
  'flip.attack.test': query => ({ a: [query % 2 === 0 ? PUBLIC_ADDRESS : '127.0.0.1'] }),
};

export const SSRF_VECTORS: readonly SsrfVector[] = [
  ...Object.entries(ADDRESSES_4).flatMap(([kind, list]) =>
    list.map(address => ({ name: `${kind}: ${address}`, authority: `${address}:PORT` })),
  ),
  ...['127.0.0.1', '169.254.169.254', '10.0.0.1', '192.168.1.1'].flatMap(address =>
    spellings(address).map(spelt => ({ name: `${address} as ${spelt}`, authority: `${spelt}:PORT` })),
  ),
  ...Object.entries(ADDRESSES_6).flatMap(([kind, list]) =>
    list.map(address => ({ name: `IPv6 ${kind}: ${address}`, authority: `[${address}]:PORT` })),
  ),
  ...['fe80::1%25lo', 'fe80::1%lo', '::1%25lo'].map(zone => ({
    name: `IPv6 zone: ${zone}`,
    authority: `[${zone}]:PORT`,
  })),
  ...['127.0.0.1', '169.254.169.254'].flatMap(address => [
    { name: `${address} percent-encoded`, authority: `${percent(address)}:PORT` },
    { name: `${address} with encoded dots`, authority: `${address.replaceAll('.', '%2e')}:PORT` },
    { name: `${address} in full-width digits`, authority: `${shifted(address, 0xff10)}:PORT` },
    { name: `${address} in enclosed digits`, authority: `${enclosed(address)}:PORT` },
    { name: `${address} in bold digits`, authority: `${shifted(address, 0x1d7ce)}:PORT` },
    { name: `${address} with ideographic stops`, authority: `${address.replaceAll('.', '\u3002')}:PORT` },
    { name: `${address} with a soft hyphen`, authority: `${address.slice(0, 2)}\u00ad${address.slice(2)}:PORT` },
  ]),
  ...NAMES.map(name => ({ name: `name: ${name}`, authority: `${name}:PORT` })),
  { name: 'name: localhost in letters of another alphabet', authority: 'lo\u212aalhost:PORT' },
  {
    name: 'name: localhost in full-width letters',
    authority: '\uff4c\uff4f\uff43\uff41\uff4c\uff48\uff4f\uff53\uff54:PORT',
  },
  ...dnsVectors,
  { name: 'userinfo that looks like the site', url: 'http://site.test@127.0.0.1:PORT/' },
  { name: 'userinfo with a port', url: 'http://site.test:80@127.0.0.1:PORT/' },
  { name: 'userinfo twice', url: 'http://a@site.test@127.0.0.1:PORT/' },
  { name: 'encoded at sign', url: 'http://127.0.0.1:PORT%40site.test/' },
  { name: 'backslash before at', url: 'http://127.0.0.1:PORT\\@site.test/' },
  { name: 'backslashes for slashes', url: 'http:\\\\127.0.0.1:PORT\\' },
  { name: 'hash before at', url: 'http://127.0.0.1:PORT#@site.test/' },
  { name: 'question mark before at', url: 'http://127.0.0.1:PORT?@site.test/' },
  { name: 'one slash', url: 'http:/127.0.0.1:PORT/' },
  { name: 'no slash', url: 'http:127.0.0.1:PORT/' },
  { name: 'three slashes', url: 'http:///127.0.0.1:PORT/' },
  { name: 'upper-case scheme', url: 'HTTP://127.0.0.1:PORT/' },
  { name: 'tab in the host', url: 'http://127.0.\t0.1:PORT/' },
  { name: 'newline in the host', url: 'http://127.0.\n0.1:PORT/' },
  { name: 'port with leading zeros', url: 'http://127.0.0.1:0000PORT/' },
];

/** The vector as one types it into an address bar. */
export const vectorUrl = (vector: SsrfVector, port: number): string =>
  ('url' in vector ? vector.url : `http://${vector.authority}/`).replace('PORT', String(port));
