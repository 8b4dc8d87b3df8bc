import { isIPv4 } from 'node:net';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { formatCidr, parseCidr, planSubnets, type Range, rangesOverlap } from '../../infra/cidr.ts';

const range = fc
  .record({ prefix: fc.integer({ min: 16, max: 20 }), base: fc.integer({ min: 0, max: 2 ** 32 - 1 }) })
  .map(({ prefix, base }): Range => ({ prefix, base: base - (base % 2 ** (32 - prefix)) }));

const parsed = (text: string): Range => {
  const found = parseCidr(text);
  if (!found) throw new Error(text);
  return found;
};

test('parses every range that it formats', () => {
  fc.assert(
    fc.property(range, one => {
      expect(parsed(formatCidr(one))).toEqual(one);
    }),
  );
});

test('nine subnets lie inside the VPC, none over another, each large enough for AWS', () => {
  fc.assert(
    fc.property(range, vpc => {
      const plan = planSubnets(vpc);
      const subnets = [...plan.public, ...plan.private, ...plan.intra].map(parsed);
      expect(subnets).toHaveLength(9);
      for (const [index, subnet] of subnets.entries()) {
        expect(isIPv4(formatCidr(subnet).split('/')[0] ?? '')).toBe(true);
        expect(subnet.base).toBeGreaterThanOrEqual(vpc.base);
        expect(subnet.base + 2 ** (32 - subnet.prefix)).toBeLessThanOrEqual(vpc.base + 2 ** (32 - vpc.prefix));
        expect(subnet.prefix).toBeLessThanOrEqual(28);
        for (const other of subnets.slice(index + 1)) expect(rangesOverlap(subnet, other)).toBe(false);
      }
    }),
  );
});

test('the private subnets of a /16 have room for some 48,000 runners and nodes', () => {
  expect(planSubnets(parsed('10.40.0.0/16'))).toEqual({
    private: ['10.40.0.0/18', '10.40.64.0/18', '10.40.128.0/18'],
    public: ['10.40.192.0/21', '10.40.200.0/21', '10.40.208.0/21'],
    intra: ['10.40.216.0/21', '10.40.224.0/21', '10.40.232.0/21'],
  });
});

test.each(['', '10.0.0.0', '10.0.0.0/33', '256.0.0.0/8', '10.0.0.1/16', '10.0.0.0/16 ', 'fd00::/8'])(
  '%j is no range',
  text => {
    expect(parseCidr(text)).toBeUndefined();
  },
);
