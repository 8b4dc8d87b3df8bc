import { type ResourceRule, readPath, type StackRule, toList } from '../rule.ts';

/**
 * The cluster comes twice: in tests as the arguments of `@pulumi/eks`'s component, which is remote and has no
 * children there; in the engine as a component without properties and, below it, AWS's own resource.
 */
const COMPONENT = 'eks:index:Cluster';
const CLUSTER = 'aws:eks/cluster:Cluster';

/** Path of a setting in each of the two. Read one by one: a preview knows some and not others. */
const SETTINGS = {
  publicAccess: { [CLUSTER]: ['vpcConfig', 'endpointPublicAccess'], [COMPONENT]: ['endpointPublicAccess'] },
  publicCidrs: { [CLUSTER]: ['vpcConfig', 'publicAccessCidrs'], [COMPONENT]: ['publicAccessCidrs'] },
  privateAccess: { [CLUSTER]: ['vpcConfig', 'endpointPrivateAccess'], [COMPONENT]: ['endpointPrivateAccess'] },
  logs: { [CLUSTER]: ['enabledClusterLogTypes'], [COMPONENT]: ['enabledClusterLogTypes'] },
  secretsKey: { [CLUSTER]: ['encryptionConfig', 'provider', 'keyArn'], [COMPONENT]: ['encryptionConfigKeyArn'] },
  authentication: { [CLUSTER]: ['accessConfig', 'authenticationMode'], [COMPONENT]: ['authenticationMode'] },
} as const;

type Read = (setting: keyof typeof SETTINGS) => unknown;

function clusterRule(
  about: Pick<ResourceRule, 'name' | 'reason' | 'link'>,
  holds: (read: Read) => boolean,
  message: string,
): ResourceRule {
  return {
    ...about,
    scope: 'resource',
    types: [COMPONENT, CLUSTER],
    check({ type, props }) {
      if (type === COMPONENT && Object.keys(props).length === 0) return [];
      const read: Read = setting => readPath(props, ...SETTINGS[setting][type === CLUSTER ? CLUSTER : COMPONENT]);
      return holds(read) ? [] : [message];
    },
  };
}

const endpoint = clusterRule(
  {
    name: 'api-server-not-exposed',
    reason: 'An API server open to the internet is exposed to its next vulnerability, and to every leaked token.',
    link: 'https://docs.aws.amazon.com/eks/latest/userguide/cluster-endpoint.html',
  },
  // AWS's defaults are the open ones: public on, 0.0.0.0/0.
  read => {
    const named = toList(read('publicCidrs'));
    return (
      read('privateAccess') === true &&
      (read('publicAccess') === false ||
        (named.length > 0 && named.every(cidr => Number(String(cidr).split('/')[1]) >= 8)))
    );
  },
  'set endpointPrivateAccess, and endpointPublicAccess to false or to named ranges',
);

const logs = clusterRule(
  {
    name: 'control-plane-logs',
    reason: 'Without the audit log it is unknown who read a Secret.',
    link: 'https://docs.aws.amazon.com/eks/latest/userguide/control-plane-logs.html',
  },
  read =>
    ['api', 'audit', 'authenticator', 'controllerManager', 'scheduler'].every(kind =>
      toList(read('logs')).includes(kind),
    ),
  'enable all five control-plane logs',
);

const secrets = clusterRule(
  {
    name: 'secrets-under-own-key',
    reason: "Secrets in etcd under AWS's key are readable by anyone with access to etcd's backups.",
    link: 'https://docs.aws.amazon.com/eks/latest/userguide/envelope-encryption.html',
  },
  read => Boolean(read('secretsKey')),
  'encrypt Secrets with a key of the stack',
);

const access = clusterRule(
  {
    name: 'access-entries-only',
    reason: 'The aws-auth ConfigMap is edited from inside the cluster: write access to it is administrator access.',
    link: 'https://docs.aws.amazon.com/eks/latest/userguide/access-entries.html',
  },
  read => read('authentication') === 'API',
  'set authenticationMode to API',
);

const cni: ResourceRule = {
  name: 'network-policies-strict',
  reason: 'In standard mode a new pod may connect anywhere until its policies are loaded.',
  link: 'https://docs.aws.amazon.com/eks/latest/userguide/cni-network-policy-configure.html',
  scope: 'resource',
  types: ['aws:eks/addon:Addon'],
  check({ props }) {
    if (props.addonName !== 'vpc-cni') return [];
    const configuration: unknown = JSON.parse(String(props.configurationValues ?? '{}'));
    return readPath(configuration, 'enableNetworkPolicy') === 'true' &&
      readPath(configuration, 'env', 'NETWORK_POLICY_ENFORCING_MODE') === 'strict'
      ? []
      : ['configure vpc-cni with enableNetworkPolicy and NETWORK_POLICY_ENFORCING_MODE=strict'];
  },
};

const OPEN = ['0.0.0.0/0', '::/0'];

const ingress: ResourceRule = {
  name: 'no-open-ingress',
  reason: 'No part of this stack serves the internet through a security group.',
  link: 'https://docs.aws.amazon.com/vpc/latest/userguide/security-group-rules.html',
  scope: 'resource',
  types: [
    'aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule',
    'aws:ec2/securityGroupRule:SecurityGroupRule',
    'aws:ec2/securityGroup:SecurityGroup',
    'aws:ec2/defaultSecurityGroup:DefaultSecurityGroup',
  ],
  check({ props }) {
    const rules = props.type === 'egress' ? [] : [props, ...toList(props.ingress)];
    const ranges = rules.flatMap(rule =>
      ['cidrIpv4', 'cidrIpv6', 'cidrBlocks', 'ipv6CidrBlocks'].flatMap(property => toList(readPath(rule, property))),
    );
    return ranges.some(range => OPEN.includes(String(range))) ? ['name the range that is allowed in'] : [];
  },
};

const flowLog: StackRule = {
  name: 'vpc-flow-log',
  reason: 'Only the flow log shows where a runner tried to connect.',
  link: 'https://docs.aws.amazon.com/vpc/latest/userguide/flow-logs.html',
  scope: 'stack',
  check(resources) {
    const logged = resources.some(
      ({ type, props }) => type === 'aws:ec2/flowLog:FlowLog' && props.trafficType === 'ALL',
    );
    return resources
      .filter(({ type }) => type === 'aws:ec2/vpc:Vpc' && !logged)
      .map(resource => ({ resource, message: 'log accepted and rejected traffic of the VPC' }));
  },
};

export const CLUSTER_RULES = [endpoint, logs, secrets, access, cni, ingress, flowLog];
