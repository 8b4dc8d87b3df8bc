import * as aws from '@pulumi/aws';
import * as pulumi from '@pulumi/pulumi';
import { ARCHITECTURE_LABEL, type Architecture, BROWSER_NODES } from '../contract/names.ts';
import { AMI_TYPES } from './architecture.ts';
import type { Cluster } from './cluster.ts';
import { type Deployment, tagsFor } from './deployment.ts';
import { userData } from './user-data.ts';

export interface NodeGroupArgs {
  readonly cluster: Cluster;
  readonly role: aws.iam.Role;
  readonly subnetIds: readonly pulumi.Input<string>[];
  /** Kubernetes version: when it rises, nodes are replaced one by one after the control plane. */
  readonly version: string;
  /** Types of one architecture. */
  readonly instanceTypes: readonly string[];
  readonly architecture: Architecture;
  readonly capacity: 'spot' | 'on-demand';
  readonly min: number;
  readonly max: number;
  readonly diskGiB: number;
  readonly podPidsMax: number;
  /** Pods of a node at most; what EKS chooses for the instance type where it is left out. */
  readonly podsMax?: number;
  /** For browsers: labelled, tainted, with Chromium's seccomp profile; other pods stay away (O16). */
  readonly browsers: boolean;
  readonly dependsOn: readonly pulumi.Resource[];
}

/** A managed node group with a launch template of its own, and the tags by which the cluster autoscaler finds it. */
export class NodeGroup extends pulumi.ComponentResource {
  readonly group: aws.eks.NodeGroup;

  constructor(deployment: Deployment, name: string, args: NodeGroupArgs) {
    super('omicron:infra:NodeGroup', name);
    const opts = { parent: this };
    const template = launchTemplate(deployment, name, args, opts);
    this.group = new aws.eks.NodeGroup(
      name,
      {
        clusterName: args.cluster.name,
        nodeGroupNamePrefix: `${name}-`, // a replacement is created first, so that pods can move
        nodeRoleArn: args.role.arn,
        subnetIds: [...args.subnetIds],
        version: args.version,
        amiType: AMI_TYPES[args.architecture],
        instanceTypes: [...args.instanceTypes],
        capacityType: args.capacity === 'spot' ? 'SPOT' : 'ON_DEMAND',
        launchTemplate: { id: template.id, version: template.latestVersion.apply(String) },
        scalingConfig: { minSize: args.min, desiredSize: args.min, maxSize: args.max },
        updateConfig: { maxUnavailable: 1 },
        nodeRepairConfig: { enabled: true },
        labels: args.browsers ? { [BROWSER_NODES.key]: BROWSER_NODES.value } : {},
        taints: args.browsers
          ? [{ key: BROWSER_NODES.key, value: BROWSER_NODES.value, effect: 'NO_SCHEDULE' }] // EKS's name for NoSchedule
          : [],
        tags: tagsFor(deployment, name),
      },
      // The autoscaler changes the size afterwards.
      { ...opts, dependsOn: [...args.dependsOn], ignoreChanges: ['scalingConfig.desiredSize'] },
    );
    if (args.browsers) tagForAutoscaler(name, args, this.group, opts);
    this.registerOutputs();
  }
}

function launchTemplate(
  deployment: Deployment,
  name: string,
  args: NodeGroupArgs,
  opts: pulumi.CustomResourceOptions,
): aws.ec2.LaunchTemplate {
  const tags = tagsFor(deployment, name);
  return new aws.ec2.LaunchTemplate(
    name,
    {
      namePrefix: `${deployment.name}-${name}-`,
      updateDefaultVersion: true,
      // A pod is one hop further than its node: with a limit of 1 answers of the metadata service never reach it.
      // https://docs.aws.amazon.com/eks/latest/best-practices/identity-and-access-management.html
      metadataOptions: { httpEndpoint: 'enabled', httpTokens: 'required', httpPutResponseHopLimit: 1 },
      blockDeviceMappings: [
        {
          deviceName: '/dev/xvda',
          ebs: { volumeType: 'gp3', volumeSize: args.diskGiB, encrypted: 'true', deleteOnTermination: 'true' },
        },
      ],
      userData: userData({
        podPidsMax: args.podPidsMax,
        podsMax: args.podsMax,
        chromium: args.browsers ? args.architecture : null,
      }),
      tagSpecifications: ['instance', 'volume', 'network-interface'].map(resourceType => ({ resourceType, tags })),
      tags,
    },
    opts,
  );
}

/**
 * Description of a node of an empty group, so that the autoscaler can scale it from zero.
 * https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/cloudprovider/aws/README.md#auto-discovery-setup
 */
export function autoscalerTags(
  clusterName: string,
  { diskGiB, architecture }: Pick<NodeGroupArgs, 'diskGiB' | 'architecture'>,
): Record<string, string> {
  const template = 'k8s.io/cluster-autoscaler/node-template';
  return {
    'k8s.io/cluster-autoscaler/enabled': 'true',
    [`k8s.io/cluster-autoscaler/${clusterName}`]: 'owned',
    [`${template}/label/${BROWSER_NODES.key}`]: BROWSER_NODES.value,
    [`${template}/label/${ARCHITECTURE_LABEL}`]: architecture,
    [`${template}/taint/${BROWSER_NODES.key}`]: `${BROWSER_NODES.value}:${BROWSER_NODES.effect}`,
    [`${template}/resources/ephemeral-storage`]: `${diskGiB}Gi`,
  };
}

function tagForAutoscaler(
  name: string,
  args: NodeGroupArgs,
  group: aws.eks.NodeGroup,
  opts: pulumi.CustomResourceOptions,
): void {
  const autoscalingGroupName = group.resources.apply(all => all[0]?.autoscalingGroups?.[0]?.name ?? '');
  for (const [key, value] of Object.entries(autoscalerTags(args.cluster.name, args))) {
    new aws.autoscaling.Tag(
      `${name}-${key}`,
      { autoscalingGroupName, tag: { key, value, propagateAtLaunch: false } },
      opts,
    );
  }
}
