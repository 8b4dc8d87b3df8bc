import { beforeAll, describe, expect, test } from 'vitest';
import { BROWSER_NODES } from '../../contract/names.ts';
import { boot } from './boot.ts';
import { type CapturedStack, capture, stackConfig } from './capture.ts';
import { all, one } from './find.ts';

let dev: CapturedStack;
let prod: CapturedStack;
beforeAll(async () => {
  dev = await capture(stackConfig('dev'));
  prod = await capture(stackConfig('prod'));
});

const group = (stack: CapturedStack, name: string) => one(stack, 'NodeGroup', name).props;

describe('[O16] browser nodes', () => {
  test('carry the label that runners select and the taint that only runners tolerate', () => {
    expect(group(dev, 'browser').labels).toEqual({ [BROWSER_NODES.key]: BROWSER_NODES.value });
    expect(group(dev, 'browser').taints).toEqual([
      { key: BROWSER_NODES.key, value: BROWSER_NODES.value, effect: 'NO_SCHEDULE' },
    ]);
    expect(BROWSER_NODES).toEqual({ key: 'workload', value: 'browser', effect: 'NoSchedule' });
  });

  test('are spot from zero in dev, on-demand and never none in prod', () => {
    expect(group(dev, 'browser')).toMatchObject({
      capacityType: 'SPOT',
      scalingConfig: { minSize: 0, desiredSize: 0, maxSize: 16 },
    });
    expect(group(prod, 'browser')).toMatchObject({
      capacityType: 'ON_DEMAND',
      scalingConfig: { minSize: 2, desiredSize: 2, maxSize: 8 },
    });
  });

  test('are divided by the share of spot instances, which EKS cannot mix in one group', async () => {
    const config = stackConfig('prod');
    const half = await capture({ ...config, browserNodes: { ...config.browserNodes, spotPercent: 50 } });
    expect(group(half, 'browser')).toMatchObject({
      capacityType: 'ON_DEMAND',
      scalingConfig: { minSize: 2, maxSize: 4 },
    });
    expect(group(half, 'browser-spot')).toMatchObject({
      capacityType: 'SPOT',
      scalingConfig: { minSize: 0, maxSize: 4 },
    });
    for (const name of ['browser', 'browser-spot']) {
      expect(group(half, name).taints).toEqual(group(prod, 'browser').taints);
      expect(boot(String(one(half, 'LaunchTemplate', name).props.userData)).script).toContain('seccomp-chromium.json');
    }
    const tagged = all(half, 'Tag').map(({ props }) => props.autoscalingGroupName);
    expect(new Set(tagged)).toEqual(new Set(['eks-browser', 'eks-browser-spot']));
  });

  test('are of both architectures where instances of both are named, each with its image and its seccomp profile', async () => {
    const config = stackConfig('dev');
    const instanceTypes = ['c6g.8xlarge', 'm6a.2xlarge', 'c7g.8xlarge'];
    const mixed = await capture({ ...config, browserNodes: { ...config.browserNodes, instanceTypes } });
    const found = ['browser', 'browser-arm64'].map(name => {
      const { amiType, instanceTypes: types } = group(mixed, name);
      const { script } = boot(String(one(mixed, 'LaunchTemplate', name).props.userData));
      return { amiType, types, architectures: /"architectures":\[([^\]]*)\]/.exec(String(script))?.[1] };
    });
    expect(found).toEqual([
      {
        amiType: 'AL2023_x86_64_STANDARD',
        types: ['m6a.2xlarge'],
        architectures: '"SCMP_ARCH_X86_64","SCMP_ARCH_X86","SCMP_ARCH_X32"',
      },
      {
        amiType: 'AL2023_ARM_64_STANDARD',
        types: ['c6g.8xlarge', 'c7g.8xlarge'],
        architectures: '"SCMP_ARCH_AARCH64"',
      },
    ]);
    expect(group(mixed, 'system').amiType).toBe('AL2023_x86_64_STANDARD');
    const arm64 = all(mixed, 'Tag').filter(({ props }) => props.autoscalingGroupName === 'eks-browser-arm64');
    expect(arm64.map(({ props }) => props.tag)).toContainEqual({
      key: 'k8s.io/cluster-autoscaler/node-template/label/kubernetes.io/arch',
      value: 'arm64',
      propagateAtLaunch: false,
    });
  });

  test('are found by the autoscaler, which knows a node before the first one is there', () => {
    const tags = all(dev, 'Tag').map(({ props }) => {
      expect(props.autoscalingGroupName).toBe('eks-browser');
      const { key, value } = props.tag as { key: string; value: string };
      return [key, value];
    });
    expect(Object.fromEntries(tags)).toEqual({
      'k8s.io/cluster-autoscaler/enabled': 'true',
      'k8s.io/cluster-autoscaler/omicron-browser-dev': 'owned',
      'k8s.io/cluster-autoscaler/node-template/label/workload': 'browser',
      'k8s.io/cluster-autoscaler/node-template/label/kubernetes.io/arch': 'amd64',
      'k8s.io/cluster-autoscaler/node-template/taint/workload': 'browser:NoSchedule',
      'k8s.io/cluster-autoscaler/node-template/resources/ephemeral-storage': '100Gi',
    });
  });

  test('bring Chromium’s profile and the pod pid limit of the configuration', () => {
    const user = boot(String(one(dev, 'LaunchTemplate', 'browser').props.userData));
    expect(user.kubelet).toMatchObject({ podPidsLimit: 1024, maxPods: 58, kubeReserved: { memory: '893Mi' } });
    expect(user.script).toContain('seccomp-chromium.json');
  });
});

describe('system nodes', () => {
  test('are on-demand, take every other pod, and have no profile for browsers', () => {
    for (const stack of [dev, prod]) {
      expect(group(stack, 'system')).toMatchObject({ capacityType: 'ON_DEMAND', labels: {}, taints: [] });
      expect(boot(String(one(stack, 'LaunchTemplate', 'system').props.userData)).script).toBeUndefined();
    }
  });
});

test.each(['system', 'browser'])(
  '%s nodes are AL2023 in private subnets, from our template at its newest version',
  name => {
    expect(group(prod, name)).toMatchObject({
      amiType: 'AL2023_x86_64_STANDARD',
      version: '1.35',
      subnetIds: ['private-0-id', 'private-1-id', 'private-2-id'],
      launchTemplate: { id: `${name}-id`, version: '1' },
      updateConfig: { maxUnavailable: 1 },
    });
  },
);

test.each(['system', 'browser'])('%s nodes ask for IMDSv2 over one hop and boot from an encrypted gp3 volume', name => {
  const { props } = one(dev, 'LaunchTemplate', name);
  expect(props.metadataOptions).toEqual({
    httpEndpoint: 'enabled',
    httpTokens: 'required',
    httpPutResponseHopLimit: 1,
  });
  expect(props.blockDeviceMappings).toMatchObject([
    { deviceName: '/dev/xvda', ebs: { volumeType: 'gp3', encrypted: 'true', deleteOnTermination: 'true' } },
  ]);
});

test('nodes join and pull; addresses are the CNI’s own role', () => {
  const policies = (role: string): string[] =>
    all(dev, 'RolePolicyAttachment')
      .filter(({ props }) => props.role === `omicron-browser-dev-${role}`)
      .map(({ props }) => String(props.policyArn).replace('arn:aws:iam::aws:policy/', ''));
  expect(policies('node').sort()).toEqual(['AmazonEC2ContainerRegistryPullOnly', 'AmazonEKSWorkerNodePolicy']);
  expect(policies('vpc-cni')).toEqual(['AmazonEKS_CNI_Policy']);
});
