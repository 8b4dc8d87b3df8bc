import { beforeAll, expect, test } from 'vitest';
import { type CapturedStack, capture, stackConfig } from './capture.ts';
import { all, one } from './find.ts';

let dev: CapturedStack;
let prod: CapturedStack;
beforeAll(async () => {
  dev = await capture(stackConfig('dev'));
  prod = await capture(stackConfig('prod'));
});

const cluster = (stack: CapturedStack) => one(stack, 'Cluster', 'cluster').props;

test('the public endpoint is open to named ranges in dev and closed in prod; the private one is always there', () => {
  expect(cluster(dev)).toMatchObject({
    endpointPrivateAccess: true,
    endpointPublicAccess: true,
    publicAccessCidrs: ['192.0.2.0/24'],
  });
  expect(cluster(prod)).toMatchObject({ endpointPrivateAccess: true, endpointPublicAccess: false });
  expect(cluster(prod)).not.toHaveProperty('publicAccessCidrs');
});

test('the control plane sits in intra subnets, under the version and service range of the configuration', () => {
  expect(cluster(dev)).toMatchObject({
    name: 'omicron-browser-dev',
    version: '1.35',
    subnetIds: ['intra-0-id', 'intra-1-id', 'intra-2-id'],
    kubernetesServiceIpAddressRange: '172.20.0.0/16',
  });
});

test('Secrets are encrypted under a key of their own', () => {
  expect(cluster(dev).encryptionConfigKeyArn).toBe('arn:aws:kms:eu-central-1:111122223333:key/secrets');
});

test('all control-plane logs go to a log group that exists before EKS would make one', () => {
  expect(cluster(dev).enabledClusterLogTypes).toEqual(
    expect.arrayContaining(['api', 'audit', 'authenticator', 'controllerManager', 'scheduler']),
  );
  expect(one(dev, 'LogGroup', 'control-plane').props).toMatchObject({
    name: '/aws/eks/omicron-browser-dev/cluster',
    retentionInDays: 14,
    kmsKeyId: 'arn:aws:kms:eu-central-1:111122223333:key/platform',
  });
});

test('the component makes no node group, add-on or OIDC provider behind our back', () => {
  expect(cluster(dev)).toMatchObject({
    bootstrapSelfManagedAddons: false,
    useDefaultVpcCni: true,
    corednsAddonOptions: { enabled: false },
    kubeProxyAddonOptions: { enabled: false },
    skipDefaultNodeGroup: true,
    createOidcProvider: false,
  });
});

test('only prod refuses to be deleted', () => {
  expect([cluster(dev).deletionProtection, cluster(prod).deletionProtection]).toEqual([false, true]);
  const refused = (stack: CapturedStack) =>
    stack.resources.filter(({ protect }) => protect).map(({ type, name }) => `${type.split(':').at(-1)} ${name}`);
  expect(refused(dev)).toEqual([]);
  expect(refused(prod).sort()).toEqual([
    'Bucket access-log',
    'Bucket artifacts',
    'Cluster cluster',
    'Key artifacts',
    'Key profiles',
    'Key secrets',
  ]);
});

test('people come in by access entries: administrators, and viewers who see no Secret', () => {
  expect(cluster(dev).authenticationMode).toBe('API');
  const entries = all(dev, 'AccessPolicyAssociation').map(({ props }) => [props.principalArn, props.policyArn]);
  const policy = 'arn:aws:eks::aws:cluster-access-policy';
  expect(entries.sort()).toEqual([
    ['arn:aws:iam::111122223333:role/omicron-admin', `${policy}/AmazonEKSClusterAdminPolicy`],
    ['arn:aws:iam::111122223333:role/omicron-developer', `${policy}/AmazonEKSViewPolicy`],
  ]);
  expect(all(dev, 'AccessEntry').map(({ props }) => props.principalArn)).toHaveLength(2);
});

test('network policies are enforced before a pod may speak', () => {
  const { props } = one(dev, 'Addon', 'vpc-cni');
  expect(JSON.parse(String(props.configurationValues))).toEqual({
    enableNetworkPolicy: 'true',
    env: { NETWORK_POLICY_ENFORCING_MODE: 'strict' },
  });
  expect(props.serviceAccountRoleArn).toBe('arn:aws:iam::111122223333:role/omicron-browser-dev-vpc-cni');
});

test('CoreDNS and kube-proxy are add-ons that only Pulumi manages', () => {
  for (const name of ['coredns', 'kube-proxy', 'vpc-cni']) {
    expect(one(dev, 'Addon', name).props).toMatchObject({
      addonName: name,
      clusterName: 'omicron-browser-dev',
      resolveConflictsOnCreate: 'OVERWRITE',
      resolveConflictsOnUpdate: 'OVERWRITE',
    });
  }
});

test('strict mode has policies for what it would isolate: CoreDNS for all pods, Argo CD for itself, none to the autoscaler', () => {
  const policies = Object.fromEntries(all(dev, 'NetworkPolicy').map(({ name, props }) => [name, props.spec]));
  const ports = [
    { protocol: 'UDP', port: 53 },
    { protocol: 'TCP', port: 53 },
    { protocol: 'TCP', port: 9153 },
  ];
  expect(policies.coredns).toMatchObject({ ingress: [{ ports }], egress: [{}] });
  expect(policies.argocd).toMatchObject({ podSelector: {}, ingress: [{ from: [{ podSelector: {} }] }] });
  expect(policies['cluster-autoscaler']).toMatchObject({ ingress: [], egress: [{}] });
});
