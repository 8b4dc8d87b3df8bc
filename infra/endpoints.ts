import * as aws from '@pulumi/aws';
import * as pulumi from '@pulumi/pulumi';
import type { StackConfig } from './config.ts';
import { type Deployment, tagsFor } from './deployment.ts';
import type { Network } from './network.ts';

/** AWS services that nodes and roles reach without the internet. */
const INTERFACES = ['ecr.api', 'ecr.dkr', 'sts', 'logs', 'kms'] as const;

/**
 * VPC endpoints, which bypass the NAT gateways: recordings go to S3 through the gateway endpoint (free, and
 * gigabytes an hour), image pulls, tokens, keys and logs through interface endpoints.
 *
 * The gateway endpoint keeps its open policy: a site that a runner visits may be served from S3 in this region, and
 * those addresses too are routed here. The egress proxy decides what a runner may reach, the bucket's policy what it
 * may write.
 */
export class Endpoints extends pulumi.ComponentResource {
  constructor(deployment: Deployment, network: Network, config: StackConfig['network']) {
    super('omicron:infra:Endpoints', 'endpoints');
    const opts = { parent: this };
    const service = (name: string): string => `com.amazonaws.${deployment.region}.${name}`;

    new aws.ec2.VpcEndpoint(
      's3',
      {
        vpcId: network.vpcId,
        serviceName: service('s3'),
        vpcEndpointType: 'Gateway',
        routeTableIds: [...network.innerRouteTableIds],
        tags: tagsFor(deployment, 's3'),
      },
      opts,
    );

    const group = new aws.ec2.SecurityGroup(
      'endpoints',
      {
        vpcId: network.vpcId,
        description: 'HTTPS from the VPC to AWS endpoints',
        tags: tagsFor(deployment, 'endpoints'),
      },
      opts,
    );
    new aws.vpc.SecurityGroupIngressRule(
      'endpoints',
      {
        securityGroupId: group.id,
        description: 'HTTPS from the VPC',
        cidrIpv4: config.cidr,
        ipProtocol: 'tcp',
        fromPort: 443,
        toPort: 443,
        tags: tagsFor(deployment, 'endpoints'),
      },
      opts,
    );
    for (const name of INTERFACES) {
      new aws.ec2.VpcEndpoint(
        name,
        {
          vpcId: network.vpcId,
          serviceName: service(name),
          vpcEndpointType: 'Interface',
          privateDnsEnabled: true,
          subnetIds: network.privateSubnetIds.slice(0, config.endpointZones),
          securityGroupIds: [group.id],
          tags: tagsFor(deployment, name),
        },
        opts,
      );
    }
    this.registerOutputs();
  }
}
