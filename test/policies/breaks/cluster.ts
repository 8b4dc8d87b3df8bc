import type { Breaks } from '../broken.ts';

const CLUSTER = 'eks:index:Cluster';

const tags = { project: 'omicron-browser', env: 'dev', 'managed-by': 'pulumi' };

/** How each rule of policies/rules/cluster.ts is broken, in as many ways as a person would think of. */
export const CLUSTER_BREAKS: Breaks = {
  'api-server-not-exposed': {
    'every address is allowed in': edit =>
      edit.change(CLUSTER, 'cluster', props => {
        props.publicAccessCidrs = ['0.0.0.0/0'];
      }),
    'half the internet is allowed in': edit =>
      edit.change(CLUSTER, 'cluster', props => {
        props.publicAccessCidrs = ['0.0.0.0/1', '128.0.0.0/1'];
      }),
    'no range is named, which AWS reads as any address': edit =>
      edit.change(CLUSTER, 'cluster', props => {
        delete props.publicAccessCidrs;
      }),
    'AWS’s own cluster resource is open': edit =>
      edit.add('aws:eks/cluster:Cluster', 'second', {
        vpcConfig: { endpointPrivateAccess: true, endpointPublicAccess: true, publicAccessCidrs: ['0.0.0.0/0'] },
        enabledClusterLogTypes: ['api', 'audit', 'authenticator', 'controllerManager', 'scheduler'],
        encryptionConfig: { provider: { keyArn: 'arn' }, resources: ['secrets'] },
        accessConfig: { authenticationMode: 'API' },
        tags,
      }),
  },
  'control-plane-logs': {
    'the audit log is off': edit =>
      edit.change(CLUSTER, 'cluster', props => {
        props.enabledClusterLogTypes = ['api', 'authenticator', 'controllerManager', 'scheduler'];
      }),
  },
  'secrets-under-own-key': {
    'no key is given': edit =>
      edit.change(CLUSTER, 'cluster', props => {
        delete props.encryptionConfigKeyArn;
      }),
  },
  'access-entries-only': {
    'the aws-auth map is on': edit =>
      edit.change(CLUSTER, 'cluster', props => {
        props.authenticationMode = 'API_AND_CONFIG_MAP';
      }),
  },
  'network-policies-strict': {
    'policies load after the pod': edit =>
      edit.change('aws:eks/addon:Addon', 'vpc-cni', props => {
        props.configurationValues = JSON.stringify({
          enableNetworkPolicy: 'true',
          env: { NETWORK_POLICY_ENFORCING_MODE: 'standard' },
        });
      }),
    'policies are not enforced': edit =>
      edit.change('aws:eks/addon:Addon', 'vpc-cni', props => {
        delete props.configurationValues;
      }),
  },
  'no-open-ingress': {
    'the endpoints serve every principal': edit =>
      edit.change('aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule', 'endpoints', props => {
        props.cidrIpv4 = '0.0.0.0/0';
      }),
    'a group has the rule inline': edit =>
      edit.change('aws:ec2/securityGroup:SecurityGroup', 'endpoints', props => {
        props.ingress = [{ protocol: 'tcp', fromPort: 22, toPort: 22, ipv6CidrBlocks: ['::/0'] }];
      }),
  },
  'vpc-flow-log': {
    'refused traffic is not logged': edit =>
      edit.change('aws:ec2/flowLog:FlowLog', 'flow-log', props => {
        props.trafficType = 'ACCEPT';
      }),
  },
};
