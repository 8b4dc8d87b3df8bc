import * as aws from '@pulumi/aws';
import * as k8s from '@pulumi/kubernetes';
import * as pulumi from '@pulumi/pulumi';
import { NAMESPACES, SERVICE_ACCOUNTS, type StackOutput } from '../contract/names.ts';
import { Access, roleArn } from './access.ts';
import { addon, VPC_CNI_CONFIGURATION } from './addons.ts';
import { architectureOf } from './architecture.ts';
import { AUTOSCALER_ACCOUNT, clusterAutoscaler } from './autoscaler.ts';
import { browserGroups } from './browser-groups.ts';
import { ArtifactBucket } from './bucket.ts';
import { Cluster, controlPlaneLogGroup } from './cluster.ts';
import { SERVICE_CIDR, type StackConfig } from './config.ts';
import { type Deployment, deploymentOf } from './deployment.ts';
import { controllerPolicy } from './documents/controller.ts';
import { accountKeyPolicy, autoscalerPolicy, platformKeyPolicy } from './documents/platform.ts';
import { profilesKeyPolicy } from './documents/profiles.ts';
import { uploaderPolicy } from './documents/recordings.ts';
import { roleTrust, serviceTrust } from './documents/trust.ts';
import { Endpoints } from './endpoints.ts';
import { FlowLog, flowLogGroup } from './flow-log.ts';
import { GitOps } from './gitops.ts';
import { serviceAccountRole } from './irsa.ts';
import { key } from './keys.ts';
import { Network } from './network.ts';
import { platformPolicy } from './network-policies.ts';
import { NodeGroup } from './nodes.ts';
import { Registry } from './registry.ts';
import { attach, documentJson, grant, role } from './role.ts';

// Pods of the system group: Argo CD's repository server, which forks git and helm, needs most.
const SYSTEM_POD_PIDS = 1024;

/** Everything that one environment has in AWS (C3). Returns the outputs that `contract/names.ts` names. */
export function stack(
  config: StackConfig,
): Record<StackOutput, pulumi.Input<string | readonly pulumi.Input<string>[]>> {
  const accountId = aws.getCallerIdentityOutput().accountId;
  const deployment = deploymentOf({ env: config.env, region: config.region, accountId, protect: config.protect });

  const platformKey = key(deployment, 'platform', {
    description: 'Log groups and images',
    policy: documentJson(
      accountId.apply(id =>
        platformKeyPolicy({
          accountId: id,
          region: deployment.region,
          logGroups: [flowLogGroup(deployment), controlPlaneLogGroup(deployment)],
        }),
      ),
    ),
  });
  const secretsKey = key(deployment, 'secrets', {
    description: 'Kubernetes Secrets',
    policy: documentJson(accountId.apply(accountKeyPolicy)),
    protect: deployment.protect, // without the key a backup of etcd is useless
  });

  const network = new Network(deployment, config.network);
  new Endpoints(deployment, network, config.network);
  new FlowLog(deployment, { vpcId: network.vpcId, keyArn: platformKey.arn, days: config.network.logDays });

  const cluster = new Cluster(deployment, {
    network,
    config: config.cluster,
    secretsKeyArn: secretsKey.arn,
    logKeyArn: platformKey.arn,
  });
  const access = new Access(deployment, cluster, config.cluster);
  const roles = serviceAccountRoles(deployment, cluster);
  const reader = role(deployment, 'artifact-reader', {
    description: 'Administrators read recordings',
    trust: accountId.apply(id => roleTrust(config.artifacts.readerRoles.map(name => roleArn(id, name)))),
  });
  const artifacts = new ArtifactBucket(deployment, { config: config.artifacts, ...roles, reader });
  const profilesKey = key(deployment, 'profiles', {
    description: 'Data keys of the profiles of users',
    policy: documentJson(
      pulumi
        .all([accountId, roles.controller.arn])
        .apply(([id, controllerRoleArn]) => profilesKeyPolicy({ accountId: id, controllerRoleArn })),
    ),
    protect: deployment.protect, // without the key every profile is lost
  });
  grant('uploader', roles.uploader, artifacts.recordings.apply(uploaderPolicy));
  grant('controller', roles.controller, artifacts.recordings.apply(controllerPolicy));
  grant(
    'cluster-autoscaler',
    roles.autoscaler,
    accountId.apply(id => autoscalerPolicy({ clusterName: cluster.name, region: deployment.region, accountId: id })),
  );
  const registry = new Registry(deployment, platformKey.arn);

  const provider = new k8s.Provider(
    'cluster',
    { kubeconfig: cluster.kubeconfig, enableServerSideApply: true },
    // Destroying the stack may itself need an access entry, so entries are removed after everything in the cluster.
    { dependsOn: [access] },
  );
  const system = nodesAndAddons(deployment, config, cluster, network, roles.cni, provider);
  const autoscalerPolicyInCluster = platformPolicy('cluster-autoscaler', { provider });
  clusterAutoscaler(
    deployment,
    { clusterName: cluster.name, roleArn: roles.autoscaler.arn },
    { provider, dependsOn: [system, autoscalerPolicyInCluster] },
  );
  new GitOps(deployment, { provider, config: config.gitops, dependsOn: [system] });

  return {
    env: deployment.env,
    region: deployment.region,
    accountId,
    clusterName: cluster.name,
    kubeconfig: cluster.kubeconfig,
    oidcIssuer: cluster.oidcIssuer,
    oidcProviderArn: cluster.oidcProviderArn,
    uploaderRoleArn: roles.uploader.arn,
    controllerRoleArn: roles.controller.arn,
    clusterAutoscalerRoleArn: roles.autoscaler.arn,
    artifactReaderRoleArn: reader.arn,
    artifactsBucket: artifacts.name,
    artifactsKeyArn: artifacts.keyArn,
    profilesKeyArn: profilesKey.arn,
    controllerRepositoryUrl: registry.urls.controller,
    runnerRepositoryUrl: registry.urls.runner,
    egressRepositoryUrl: registry.urls.egress,
    consoleRepositoryUrl: registry.urls.console,
    vpcCidr: config.network.cidr,
    serviceCidr: SERVICE_CIDR,
    natAddresses: network.natAddresses,
  };
}

/** One role for each service account that uses AWS. */
function serviceAccountRoles(deployment: Deployment, cluster: Cluster) {
  return {
    uploader: serviceAccountRole(deployment, cluster, 'uploader', {
      description: 'Runners write recordings',
      account: { namespace: NAMESPACES.runners, name: SERVICE_ACCOUNTS.runner },
    }),
    controller: serviceAccountRole(deployment, cluster, 'controller', {
      description: 'The controller sees which recordings arrived, and keeps profiles',
      account: { namespace: NAMESPACES.system, name: SERVICE_ACCOUNTS.controller },
    }),
    autoscaler: serviceAccountRole(deployment, cluster, 'cluster-autoscaler', {
      description: 'The cluster autoscaler sizes the node groups',
      account: AUTOSCALER_ACCOUNT,
    }),
    cni: serviceAccountRole(deployment, cluster, 'vpc-cni', {
      description: 'The VPC CNI attaches addresses to nodes',
      account: { namespace: 'kube-system', name: 'aws-node' },
    }),
  };
}

/**
 * Nodes and what makes them usable, in the only order that works: the CNI before any node, CoreDNS's policy before
 * CoreDNS (strict mode isolates it otherwise), CoreDNS after there is a node for it. Resolves to what a workload must
 * wait for.
 */
function nodesAndAddons(
  deployment: Deployment,
  config: StackConfig,
  cluster: Cluster,
  network: Network,
  cniRole: aws.iam.Role,
  provider: k8s.Provider,
): pulumi.Resource {
  const nodeRole = role(deployment, 'node', {
    description: 'Nodes join the cluster and pull images',
    trust: serviceTrust('ec2.amazonaws.com'),
  });
  const nodeRights = attach('node', nodeRole, ['AmazonEKSWorkerNodePolicy', 'AmazonEC2ContainerRegistryPullOnly']);
  const cniRights = attach('vpc-cni', cniRole, ['AmazonEKS_CNI_Policy']);
  const cni = addon(deployment, 'vpc-cni', {
    cluster,
    configuration: VPC_CNI_CONFIGURATION,
    roleArn: cniRole.arn,
    dependsOn: [cluster.ready, ...cniRights],
  });
  const proxy = addon(deployment, 'kube-proxy', { cluster, dependsOn: [cluster.ready] });
  const names = platformPolicy('coredns', { provider });
  const shared = {
    cluster,
    role: nodeRole,
    version: config.cluster.version,
    subnetIds: network.privateSubnetIds,
    dependsOn: [cni, proxy, network, ...nodeRights],
  };
  const system = new NodeGroup(deployment, 'system', {
    ...shared,
    ...config.systemNodes,
    capacity: 'on-demand',
    architecture: architectureOf(config.systemNodes.instanceTypes[0] ?? ''), // of all: the configuration was checked
    podPidsMax: SYSTEM_POD_PIDS,
    browsers: false,
  });
  const { diskGiB, podPidsMax, podsMax } = config.browserNodes;
  for (const { name, ...group } of browserGroups(config.browserNodes))
    new NodeGroup(deployment, name, {
      ...shared,
      ...group,
      diskGiB,
      podPidsMax,
      podsMax,
      browsers: true,
    });
  return addon(deployment, 'coredns', { cluster, dependsOn: [system.group, names] });
}
