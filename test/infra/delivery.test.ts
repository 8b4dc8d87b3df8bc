import { beforeAll, describe, expect, test } from 'vitest';
import { SERVICE_ACCOUNTS, STACK_OUTPUTS } from '../../contract/names.ts';
import { type CapturedStack, capture, stackConfig } from './capture.ts';
import { all, one } from './find.ts';

let dev: CapturedStack;
let prod: CapturedStack;
beforeAll(async () => {
  dev = await capture(stackConfig('dev'));
  prod = await capture(stackConfig('prod'));
});

describe('images', () => {
  test.each(['controller', 'runner', 'egress', 'console'])(
    'the repository of %s never moves a tag, scans and encrypts',
    image => {
      expect(one(dev, 'Repository', image).props).toMatchObject({
        name: `omicron-browser-dev/${image}`,
        imageTagMutability: 'IMMUTABLE',
        imageScanningConfiguration: { scanOnPush: true },
        encryptionConfigurations: [
          { encryptionType: 'KMS', kmsKey: 'arn:aws:kms:eu-central-1:111122223333:key/platform' },
        ],
      });
      expect(dev.outputs[`${image}RepositoryUrl`]).toBe(
        `111122223333.dkr.ecr.eu-central-1.amazonaws.com/omicron-browser-dev/${image}`,
      );
    },
  );

  test('untagged layers go after a week, of the others the newest sixty stay', () => {
    const policy = JSON.parse(String(one(dev, 'LifecyclePolicy', 'runner').props.policy));
    expect(policy.rules.map((rule: { selection: unknown }) => rule.selection)).toEqual([
      { tagStatus: 'untagged', countType: 'sinceImagePushed', countUnit: 'days', countNumber: 7 },
      { tagStatus: 'any', countType: 'imageCountMoreThan', countNumber: 60 },
    ]);
  });

  test('dev lets a repository go with its images, prod does not', () => {
    expect(one(dev, 'Repository', 'runner').props.forceDelete).toBe(true);
    expect(one(prod, 'Repository', 'runner').props.forceDelete).toBe(false);
  });
});

describe('Argo CD', () => {
  test('is installed from its chart at one version, into a namespace that strict mode does not close', () => {
    expect(one(dev, 'Release', 'argocd').props).toMatchObject({
      chart: 'argo-cd',
      namespace: 'argocd',
      version: expect.stringMatching(/^\d+\.\d+\.\d+$/),
      repositoryOpts: { repo: 'https://argoproj.github.io/argo-helm' },
    });
    expect(one(dev, 'NetworkPolicy', 'argocd').props.metadata).toMatchObject({ namespace: 'argocd' });
  });

  test('has no public page, no second login and, in prod, no single replica that a sync waits for', () => {
    expect(one(prod, 'Release', 'argocd').props.values).toMatchObject({
      dex: { enabled: false },
      server: { replicas: 2, service: { type: 'ClusterIP' } },
      repoServer: { replicas: 2 },
    });
  });

  test.each(['dev', 'prod'])('follows manifests/rendered/%s, and deletes what it made when it is deleted', env => {
    const { props } = one(env === 'dev' ? dev : prod, 'Application', 'root');
    expect(props).toMatchObject({
      metadata: { namespace: 'argocd', finalizers: ['resources-finalizer.argocd.argoproj.io'] },
      spec: {
        source: {
          repoURL: 'https://github.com/example/omicron-browser.git',
          targetRevision: 'main',
          path: `manifests/rendered/${env}`,
          directory: { recurse: false },
        },
        destination: { server: 'https://kubernetes.default.svc' },
        syncPolicy: { automated: { prune: true, selfHeal: true } },
      },
    });
  });
});

test('the autoscaler runs as the account that its role trusts, on this cluster’s groups', () => {
  expect(one(dev, 'Release', 'cluster-autoscaler').props).toMatchObject({
    namespace: 'kube-system',
    values: {
      autoDiscovery: { clusterName: 'omicron-browser-dev' },
      awsRegion: 'eu-central-1',
      rbac: {
        serviceAccount: {
          name: SERVICE_ACCOUNTS.clusterAutoscaler,
          annotations: { 'eks.amazonaws.com/role-arn': dev.outputs.clusterAutoscalerRoleArn },
        },
      },
    },
  });
});

test('every output that the contract names has a value, and there is no other', () => {
  for (const stack of [dev, prod]) {
    expect(Object.keys(stack.outputs).sort()).toEqual([...STACK_OUTPUTS].sort());
    for (const [name, value] of Object.entries(stack.outputs)) expect(value, name).toBeTruthy();
  }
  expect(prod.outputs).toMatchObject({ vpcCidr: '10.60.0.0/16', serviceCidr: '172.20.0.0/16' });
  expect(prod.outputs.natAddresses).toHaveLength(3);
});

test('everything runs in the region of the stack: no name of another stands anywhere', () => {
  for (const { type, name, props } of all(prod, 'VpcEndpoint')) {
    expect(JSON.stringify(props), `${type} ${name}`).not.toMatch(/us-east-1/);
  }
});
