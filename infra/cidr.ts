import ipaddr from 'ipaddr.js';

/** An IPv4 range: the address of its first host as a number, and the length of its prefix. */
export interface Range {
  readonly base: number;
  readonly prefix: number;
}

/** Parses `a.b.c.d/n`. Undefined when it is not an IPv4 range, or when host bits are set. */
export function parseCidr(text: string): Range | undefined {
  if (!ipaddr.IPv4.isValidCIDRFourPartDecimal(text)) return undefined;
  const [network, prefix] = ipaddr.IPv4.parseCIDR(text);
  const base = network.toByteArray().reduce((number, byte) => number * 256 + byte, 0);
  return base % rangeSize(prefix) === 0 ? { base, prefix } : undefined;
}

export function formatCidr({ base, prefix }: Range): string {
  return `${[24, 16, 8, 0].map(shift => Math.floor(base / 2 ** shift) % 256).join('.')}/${prefix}`;
}

export const rangesOverlap = (a: Range, b: Range): boolean =>
  a.base < b.base + rangeSize(b.prefix) && b.base < a.base + rangeSize(a.prefix);

/** Three zones of each kind. */
export interface SubnetPlan {
  readonly public: readonly string[];
  readonly private: readonly string[];
  readonly intra: readonly string[];
}

/**
 * Cuts a VPC into nine subnets: three quarters are private (each runner takes an address there), and of the last
 * quarter three eighths are public and three eighths intra (no route out). Every prefix from /16 to /20 works: the
 * smallest subnet of a /20 is a /25, above the /28 that EKS and S3 endpoints need.
 */
export function planSubnets(vpc: Range): SubnetPlan {
  const zones = [0, 1, 2];
  const slice = (bits: number, index: number): string =>
    formatCidr({ base: vpc.base + index * rangeSize(vpc.prefix + bits), prefix: vpc.prefix + bits });
  return {
    private: zones.map(zone => slice(2, zone)),
    public: zones.map(zone => slice(5, 24 + zone)),
    intra: zones.map(zone => slice(5, 27 + zone)),
  };
}

const rangeSize = (prefix: number): number => 2 ** (32 - prefix);
