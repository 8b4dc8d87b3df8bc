import * as aws from '@pulumi/aws';
import * as pulumi from '@pulumi/pulumi';
import { type Deployment, tagsFor } from './deployment.ts';
import { flowLogPolicy } from './documents/platform.ts';
import { flowLogTrust } from './documents/trust.ts';
import { grant, role } from './role.ts';

export const flowLogGroup = (deployment: Pick<Deployment, 'name'>): string => `/${deployment.name}/vpc-flow`;

/** All connections in the VPC, accepted and rejected, for incident analysis. */
export class FlowLog extends pulumi.ComponentResource {
  constructor(
    deployment: Deployment,
    args: { vpcId: pulumi.Input<string>; keyArn: pulumi.Input<string>; days: number },
  ) {
    super('omicron:infra:FlowLog', 'flow-log');
    const opts = { parent: this };
    const group = new aws.cloudwatch.LogGroup(
      'flow-log',
      {
        name: flowLogGroup(deployment),
        retentionInDays: args.days,
        kmsKeyId: args.keyArn,
        tags: tagsFor(deployment, 'flow-log'),
      },
      opts,
    );
    const writer = role(
      deployment,
      'flow-log',
      { description: 'VPC flow logs write to CloudWatch', trust: deployment.accountId.apply(flowLogTrust) },
      opts,
    );
    const granted = grant('flow-log', writer, group.arn.apply(flowLogPolicy), opts);
    new aws.ec2.FlowLog(
      'flow-log',
      {
        vpcId: args.vpcId,
        trafficType: 'ALL',
        logDestinationType: 'cloud-watch-logs',
        logDestination: group.arn,
        iamRoleArn: writer.arn,
        maxAggregationInterval: 600,
        tags: tagsFor(deployment, 'flow-log'),
      },
      { ...opts, dependsOn: [granted] },
    );
    this.registerOutputs();
  }
}
