import { type Document, iamDocument } from './document.ts';

/**
 * A key whose use IAM decides, as with a key made in the console.
 * https://docs.aws.amazon.com/kms/latest/developerguide/key-policy-default.html
 */
export function accountKeyPolicy(accountId: string): Document {
  return iamDocument({
    Sid: 'AccountDecidesByIam',
    Effect: 'Allow',
    Principal: { AWS: `arn:aws:iam::${accountId}:root` },
    Action: ['kms:*'],
    Resource: ['*'],
  });
}

/**
 * The same, and CloudWatch Logs of this region may encrypt the log groups of this deployment.
 * https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/encrypt-log-data-kms.html
 */
export function platformKeyPolicy(args: { accountId: string; region: string; logGroups: readonly string[] }): Document {
  return iamDocument(...accountKeyPolicy(args.accountId).Statement, {
    Sid: 'LogsEncrypt',
    Effect: 'Allow',
    Principal: { Service: `logs.${args.region}.amazonaws.com` },
    Action: [
      'kms:Encrypt',
      'kms:Decrypt',
      'kms:ReEncryptFrom',
      'kms:ReEncryptTo',
      'kms:GenerateDataKey',
      'kms:DescribeKey',
    ],
    Resource: ['*'],
    Condition: {
      ArnEquals: {
        'kms:EncryptionContext:aws:logs:arn': args.logGroups.map(
          group => `arn:aws:logs:${args.region}:${args.accountId}:log-group:${group}`,
        ),
      },
    },
  });
}

/** Rights of EKS on the key of the cluster's Secrets. */
export function secretsKeyUse(keyArn: string): Document {
  return iamDocument({
    Sid: 'EncryptSecrets',
    Effect: 'Allow',
    Action: ['kms:Encrypt', 'kms:Decrypt', 'kms:ListGrants', 'kms:DescribeKey'],
    Resource: [keyArn],
  });
}

/** VPC flow logs into one log group: https://docs.aws.amazon.com/vpc/latest/userguide/flow-logs-iam-role.html */
export function flowLogPolicy(logGroupArn: string): Document {
  return iamDocument({
    Sid: 'WriteFlowLog',
    Effect: 'Allow',
    Action: ['logs:CreateLogStream', 'logs:PutLogEvents', 'logs:DescribeLogStreams'],
    Resource: [logGroupArn, `${logGroupArn}:log-stream:*`],
  });
}

/**
 * The cluster autoscaler: may describe everything (EC2 and Auto Scaling support no narrower Describe) and change only
 * this cluster's groups.
 * https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/cloudprovider/aws/README.md#iam-policy
 */
export function autoscalerPolicy(args: { clusterName: string; region: string; accountId: string }): Document {
  const here = `${args.region}:${args.accountId}`;
  return iamDocument(
    {
      Sid: 'LookAtGroups',
      Effect: 'Allow',
      Action: [
        'autoscaling:DescribeAutoScalingGroups',
        'autoscaling:DescribeAutoScalingInstances',
        'autoscaling:DescribeLaunchConfigurations',
        'autoscaling:DescribeScalingActivities',
        'ec2:DescribeImages',
        'ec2:DescribeInstanceTypes',
        'ec2:DescribeLaunchTemplateVersions',
        'ec2:GetInstanceTypesFromInstanceRequirements',
      ],
      Resource: ['*'],
    },
    {
      Sid: 'LookAtNodeGroups',
      Effect: 'Allow',
      Action: ['eks:DescribeNodegroup'],
      Resource: [`arn:aws:eks:${here}:nodegroup/${args.clusterName}/*`],
    },
    {
      Sid: 'ScaleGroupsOfThisCluster',
      Effect: 'Allow',
      Action: ['autoscaling:SetDesiredCapacity', 'autoscaling:TerminateInstanceInAutoScalingGroup'],
      Resource: [`arn:aws:autoscaling:${here}:autoScalingGroup:*:autoScalingGroupName/*`],
      Condition: { StringEquals: { [`aws:ResourceTag/k8s.io/cluster-autoscaler/${args.clusterName}`]: 'owned' } },
    },
  );
}
