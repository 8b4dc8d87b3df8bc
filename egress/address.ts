import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import type { AddressClass } from '../contract/egress.ts';

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Range = [Address, number];

/**
 * Ranges outside the public internet: IANA's special-purpose registries
 * (<https://www.iana.org/assignments/iana-ipv4-special-registry>,
 * <https://www.iana.org/assignments/iana-ipv6-special-registry>) and the clouds' metadata addresses. The first class
 * that holds an address names it.
 */
export const DENIED_RANGES = {
  metadata: [
    '169.254.169.254/32',
    '169.254.170.2/32',
    '169.254.170.23/32',
    '168.63.129.16/32',
    '100.100.100.200/32',
    'fd00:ec2::/32',
  ],
  loopback: ['127.0.0.0/8', '::1/128'],
  unspecified: ['0.0.0.0/8', '::/128'],
  private: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7', 'fec0::/10'],
  shared: ['100.64.0.0/10'],
  link_local: ['169.254.0.0/16', 'fe80::/10'],
  multicast: ['224.0.0.0/4', 'ff00::/8'],
  documentation: ['192.0.2.0/24', '198.51.100.0/24', '203.0.113.0/24', '2001:db8::/32', '3fff::/20'],
  benchmark: ['198.18.0.0/15', '2001:2::/48'],
  // A translator would dial the IPv4 address inside such an IPv6 one: mapped, compatible, NAT64, 6to4, Teredo.
  transition: [
    '192.88.99.0/24',
    '::/96',
    '::ffff:0:0/96',
    '::ffff:0:0:0/96',
    '64:ff9b::/96',
    '64:ff9b:1::/48',
    '2001::/32',
    '2002::/16',
  ],
  reserved: ['192.0.0.0/24', '240.0.0.0/4', '100::/64', '2001::/23'],
} as const satisfies Partial<Record<AddressClass, readonly string[]>>;

/** Only this part of IPv6 is given out as global unicast: <https://www.iana.org/assignments/ipv6-address-space>. */
const GLOBAL_UNICAST_6: Range = ipaddr.parseCIDR('2000::/3');

export interface Classifier {
  /**
   * `public` may be dialled, everything else may not. The text must be one address in its usual spelling, else
   * `reserved`.
   */
  classify(address: string): AddressClass;
}

/**
 * Classifies addresses. `denied` are the deployment's own ranges (VPC, pods, services, its public addresses);
 * `allowed` are ranges that count as public although a table says otherwise, and win over everything: for private
 * deployments and tests.
 */
export function addressClassifier(options: { denied: readonly string[]; allowed: readonly string[] }): Classifier {
  const ranges = (texts: readonly string[]): Range[] => texts.map(text => ipaddr.parseCIDR(text));
  const allowed = ranges(options.allowed);
  const classes: [AddressClass, Range[]][] = [['deployment', ranges(options.denied)]];
  for (const [name, texts] of Object.entries(DENIED_RANGES)) classes.push([name as AddressClass, ranges(texts)]); // keys of the table above are address classes
  return {
    classify(text) {
      if (isIP(text) === 0 || text.includes('%')) return 'reserved';
      const address = ipaddr.parse(text);
      if (allowed.some(range => isInRange(address, range))) return 'public';
      for (const [name, list] of classes) if (list.some(range => isInRange(address, range))) return name;
      if (address.kind() === 'ipv4') return 'public';
      if (!isInRange(address, GLOBAL_UNICAST_6)) return 'reserved';
      return isIsatap(address as ipaddr.IPv6) ? 'transition' : 'public'; // kind() above distinguishes them, not the type
    },
  };
}

const isInRange = (address: Address, [network, bits]: Range): boolean =>
  address.kind() === network.kind() && address.match(network, bits);

/**
 * ISATAP hides an IPv4 address in the interface id of any prefix:
 * <https://www.rfc-editor.org/rfc/rfc5214#section-6.1>.
 */
const isIsatap = ({ parts }: ipaddr.IPv6): boolean => parts[5] === 0x5efe && (parts[4] === 0 || parts[4] === 0x0200);
