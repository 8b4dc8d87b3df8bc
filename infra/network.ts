import * as aws from '@pulumi/aws';
import * as pulumi from '@pulumi/pulumi';
import { parseCidr, planSubnets } from './cidr.ts';
import type { StackConfig } from './config.ts';
import { type Deployment, tagsFor } from './deployment.ts';

/**
 * A VPC over three zones. Public subnets hold NAT gateways and load balancers, private ones the nodes, intra ones (no
 * route out) the network interfaces of the control plane.
 */
export class Network extends pulumi.ComponentResource {
  readonly vpcId: pulumi.Output<string>;
  readonly publicSubnetIds: readonly pulumi.Output<string>[];
  readonly privateSubnetIds: readonly pulumi.Output<string>[];
  readonly intraSubnetIds: readonly pulumi.Output<string>[];
  /** Tables whose traffic to S3 takes the gateway endpoint. */
  readonly innerRouteTableIds: readonly pulumi.Output<string>[];
  /** The public addresses of the cluster's outgoing connections. */
  readonly natAddresses: readonly pulumi.Output<string>[];

  constructor(deployment: Deployment, config: StackConfig['network']) {
    super('omicron:infra:Network', 'network');
    const opts = { parent: this };
    const range = parseCidr(config.cidr);
    if (!range) throw new Error(`not a range: ${config.cidr}`);
    const plan = planSubnets(range);

    const vpc = new aws.ec2.Vpc(
      'vpc',
      {
        cidrBlock: config.cidr,
        enableDnsHostnames: true, // private names of the interface endpoints need both
        enableDnsSupport: true,
        tags: tagsFor(deployment, 'vpc'),
      },
      opts,
    );
    // The default security group of the VPC has no rules, so that using it by mistake allows nothing.
    new aws.ec2.DefaultSecurityGroup('default', { vpcId: vpc.id, tags: tagsFor(deployment, 'unused-default') }, opts);

    const subnets = (kind: keyof typeof plan, tags: Record<string, string>): aws.ec2.Subnet[] =>
      plan[kind].map(
        (cidrBlock, zone) =>
          new aws.ec2.Subnet(
            `${kind}-${zone}`,
            {
              vpcId: vpc.id,
              cidrBlock,
              availabilityZone: config.zones[zone],
              mapPublicIpOnLaunch: false,
              tags: { ...tagsFor(deployment, `${kind}-${zone}`), ...tags },
            },
            opts,
          ),
      );
    const table = (name: string, members: readonly aws.ec2.Subnet[]): aws.ec2.RouteTable => {
      const made = new aws.ec2.RouteTable(name, { vpcId: vpc.id, tags: tagsFor(deployment, name) }, opts);
      members.forEach((subnet, index) => {
        new aws.ec2.RouteTableAssociation(`${name}-${index}`, { subnetId: subnet.id, routeTableId: made.id }, opts);
      });
      return made;
    };

    // Load balancer controllers look for these tags:
    // https://docs.aws.amazon.com/eks/latest/userguide/network-reqs.html
    const publicSubnets = subnets('public', { 'kubernetes.io/role/elb': '1' });
    const privateSubnets = subnets('private', { 'kubernetes.io/role/internal-elb': '1' });
    const intraSubnets = subnets('intra', {});

    const gateway = new aws.ec2.InternetGateway(
      'internet',
      { vpcId: vpc.id, tags: tagsFor(deployment, 'internet') },
      opts,
    );
    const publicTable = table('public', publicSubnets);
    const everywhere = { destinationCidrBlock: '0.0.0.0/0' };
    new aws.ec2.Route('public', { ...everywhere, routeTableId: publicTable.id, gatewayId: gateway.id }, opts);

    const nats = publicSubnets.slice(0, config.natGateways === 'one' ? 1 : publicSubnets.length).map((subnet, zone) => {
      const address = new aws.ec2.Eip(`nat-${zone}`, { domain: 'vpc', tags: tagsFor(deployment, `nat-${zone}`) }, opts);
      const nat = new aws.ec2.NatGateway(
        `nat-${zone}`,
        { allocationId: address.id, subnetId: subnet.id, tags: tagsFor(deployment, `nat-${zone}`) },
        { ...opts, dependsOn: [gateway] },
      );
      return { id: nat.id, address: address.publicIp };
    });
    const privateTables = privateSubnets.map((subnet, zone) => {
      const made = table(`private-${zone}`, [subnet]);
      const nat = nats[zone % nats.length];
      if (nat)
        new aws.ec2.Route(`private-${zone}`, { ...everywhere, routeTableId: made.id, natGatewayId: nat.id }, opts);
      return made;
    });
    const intraTable = table('intra', intraSubnets);

    const ids = (all: readonly (aws.ec2.Subnet | aws.ec2.RouteTable)[]): pulumi.Output<string>[] =>
      all.map(one => one.id);
    this.vpcId = vpc.id;
    this.publicSubnetIds = ids(publicSubnets);
    this.privateSubnetIds = ids(privateSubnets);
    this.intraSubnetIds = ids(intraSubnets);
    this.innerRouteTableIds = ids([...privateTables, intraTable]);
    this.natAddresses = nats.map(nat => nat.address);
    this.registerOutputs();
  }
}
