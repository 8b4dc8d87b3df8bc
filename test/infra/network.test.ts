import { beforeAll, describe, expect, test } from 'vitest';
import { type CapturedStack, capture, stackConfig } from './capture.ts';
import { all, one } from './find.ts';

const stacks: Record<string, CapturedStack> = {};
beforeAll(async () => {
  for (const env of ['dev', 'prod']) stacks[env] = await capture(stackConfig(env));
});
const stackOf = (env: string): CapturedStack => stacks[env] ?? { resources: [], outputs: {} };

/** The route of traffic to the internet from a subnet: the id of a gateway, or nothing. */
function wayOut(stack: CapturedStack, subnet: string): unknown {
  const table = all(stack, 'RouteTableAssociation').find(({ props }) => props.subnetId === `${subnet}-id`);
  const route = all(stack, 'Route').find(({ props }) => props.routeTableId === table?.props.routeTableId);
  expect(route?.props.destinationCidrBlock ?? '0.0.0.0/0').toBe('0.0.0.0/0');
  return route?.props.gatewayId ?? route?.props.natGatewayId;
}

describe.each(['dev', 'prod'])('%s', env => {
  test('has a public, a private and an intra subnet in each of three zones', () => {
    for (const kind of ['public', 'private', 'intra']) {
      const zones = [0, 1, 2].map(zone => one(stackOf(env), 'Subnet', `${kind}-${zone}`).props.availabilityZone);
      expect(zones).toEqual(['eu-central-1a', 'eu-central-1b', 'eu-central-1c']);
    }
    expect(all(stackOf(env), 'Subnet')).toHaveLength(9);
  });

  test('lets public subnets out by the internet gateway, private ones by NAT, intra ones not at all', () => {
    const stack = stackOf(env);
    for (const zone of [0, 1, 2]) {
      expect(wayOut(stack, `public-${zone}`)).toBe('internet-id');
      expect(wayOut(stack, `private-${zone}`)).toBe(env === 'prod' ? `nat-${zone}-id` : 'nat-0-id');
      expect(wayOut(stack, `intra-${zone}`)).toBeUndefined();
    }
  });

  test('puts each NAT gateway into a public subnet, with an address of its own', () => {
    const gateways = all(stackOf(env), 'NatGateway').map(({ props }) => [props.subnetId, props.allocationId]);
    const expected = [0, 1, 2].map(zone => [`public-${zone}-id`, `nat-${zone}-id`]);
    expect(gateways).toEqual(env === 'prod' ? expected : expected.slice(0, 1));
  });

  test('reaches S3 through a gateway endpoint from every private and intra subnet', () => {
    const endpoint = one(stackOf(env), 'VpcEndpoint', 's3').props;
    expect(endpoint).toMatchObject({ vpcEndpointType: 'Gateway', serviceName: 'com.amazonaws.eu-central-1.s3' });
    expect(endpoint.routeTableIds).toEqual(['private-0-id', 'private-1-id', 'private-2-id', 'intra-id']);
  });

  test('reaches ECR, STS, logs and KMS through interface endpoints under their own names', () => {
    const interfaces = all(stackOf(env), 'VpcEndpoint').filter(({ name }) => name !== 's3');
    expect(interfaces.map(({ props }) => props.serviceName).sort()).toEqual(
      ['ecr.api', 'ecr.dkr', 'kms', 'logs', 'sts'].map(name => `com.amazonaws.eu-central-1.${name}`),
    );
    for (const { props } of interfaces) {
      expect(props).toMatchObject({ privateDnsEnabled: true, securityGroupIds: ['endpoints-id'] });
      expect(props.subnetIds).toHaveLength(env === 'prod' ? 3 : 1);
    }
  });

  test('opens those endpoints on 443 to the VPC only', () => {
    const rules = all(stackOf(env), 'SecurityGroupIngressRule');
    expect(rules.map(({ props }) => props)).toMatchObject([
      { cidrIpv4: env === 'prod' ? '10.60.0.0/16' : '10.40.0.0/16', ipProtocol: 'tcp', fromPort: 443, toPort: 443 },
    ]);
  });

  test('logs all traffic of the VPC into a log group that expires', () => {
    expect(one(stackOf(env), 'FlowLog', 'flow-log').props).toMatchObject({ vpcId: 'vpc-id', trafficType: 'ALL' });
    expect(one(stackOf(env), 'LogGroup', 'flow-log').props).toMatchObject({
      name: `/omicron-browser-${env}/vpc-flow`,
      retentionInDays: env === 'prod' ? 90 : 14,
    });
  });

  test('leaves the security group that every VPC is born with without a rule', () => {
    const { props } = one(stackOf(env), 'DefaultSecurityGroup', 'default');
    expect([props.ingress, props.egress]).toEqual([undefined, undefined]);
  });
});
