import * as aws from '@pulumi/aws';
import * as eks from '@pulumi/eks';
import * as pulumi from '@pulumi/pulumi';
import { SERVICE_CIDR, type StackConfig } from './config.ts';
import { type Deployment, tagsFor } from './deployment.ts';
import { secretsKeyUse } from './documents/platform.ts';
import { serviceTrust } from './documents/trust.ts';
import type { Network } from './network.ts';
import { attach, grant, role } from './role.ts';

/** All five: https://docs.aws.amazon.com/eks/latest/userguide/control-plane-logs.html */
const CONTROL_PLANE_LOGS = ['api', 'audit', 'authenticator', 'controllerManager', 'scheduler'];

/**
 * The name of a cluster's log group in EKS. Created here first, it is encrypted, expires, and is deleted with the
 * stack.
 */
export const controlPlaneLogGroup = (deployment: Pick<Deployment, 'name'>): string =>
  `/aws/eks/${deployment.name}/cluster`;

/**
 * The control plane. `@pulumi/eks` creates only the cluster; everything that security depends on (roles, OIDC
 * provider, add-ons, access entries, nodes) is a resource of this program, visible to tests and policies
 * (docs/adr/0004).
 */
export class Cluster extends pulumi.ComponentResource {
  readonly name: string;
  readonly kubeconfig: pulumi.Output<string>;
  readonly oidcIssuer: pulumi.Output<string>;
  readonly oidcProviderArn: pulumi.Output<string>;
  /** The control plane itself; what needs it waits for this. */
  readonly ready: pulumi.Resource;

  constructor(
    deployment: Deployment,
    args: {
      network: Network;
      config: StackConfig['cluster'];
      secretsKeyArn: pulumi.Input<string>;
      logKeyArn: pulumi.Input<string>;
    },
  ) {
    super('omicron:infra:Cluster', 'cluster');
    const opts = { parent: this };
    this.name = deployment.name;

    const logs = new aws.cloudwatch.LogGroup(
      'control-plane',
      {
        name: controlPlaneLogGroup(deployment),
        retentionInDays: args.config.logDays,
        kmsKeyId: args.logKeyArn,
        tags: tagsFor(deployment, 'control-plane'),
      },
      opts,
    );
    const serviceRole = role(
      deployment,
      'cluster',
      {
        description: 'EKS manages the network interfaces of the control plane',
        trust: serviceTrust('eks.amazonaws.com'),
      },
      opts,
    );
    const attached = attach('cluster', serviceRole, ['AmazonEKSClusterPolicy'], opts);
    const keyUse = grant('cluster-secrets', serviceRole, pulumi.output(args.secretsKeyArn).apply(secretsKeyUse), opts);

    const cluster = new eks.Cluster(
      'cluster',
      {
        name: deployment.name,
        version: args.config.version,
        vpcId: args.network.vpcId,
        subnetIds: [...args.network.intraSubnetIds],
        kubernetesServiceIpAddressRange: SERVICE_CIDR,
        authenticationMode: 'API',
        serviceRole,
        encryptionConfigKeyArn: args.secretsKeyArn,
        endpointPrivateAccess: true,
        endpointPublicAccess: args.config.publicAccessCidrs.length > 0,
        ...(args.config.publicAccessCidrs.length > 0 ? { publicAccessCidrs: args.config.publicAccessCidrs } : {}),
        enabledClusterLogTypes: CONTROL_PLANE_LOGS,
        deletionProtection: deployment.protect,
        upgradePolicy: { supportType: 'STANDARD' }, // extended support costs six times as much an hour
        // Created by this program, not by the component: add-ons, nodes, OIDC provider (docs/adr/0004).
        bootstrapSelfManagedAddons: false,
        useDefaultVpcCni: true,
        corednsAddonOptions: { enabled: false },
        kubeProxyAddonOptions: { enabled: false },
        skipDefaultNodeGroup: true,
        skipDefaultSecurityGroups: true,
        createOidcProvider: false,
        tags: tagsFor(deployment, 'cluster'),
      },
      { ...opts, dependsOn: [logs, keyUse, ...attached], protect: deployment.protect },
    );

    const provider = new aws.iam.OpenIdConnectProvider(
      'oidc',
      { url: cluster.oidcProviderUrl, clientIdLists: ['sts.amazonaws.com'], tags: tagsFor(deployment, 'oidc') },
      opts,
    );
    this.ready = cluster;
    this.kubeconfig = pulumi.secret(cluster.kubeconfigJson);
    this.oidcIssuer = cluster.oidcIssuer;
    this.oidcProviderArn = provider.arn;
    this.registerOutputs();
  }
}
