import { beforeAll, describe, expect, test } from 'vitest';
import { ACCOUNT, arn, ISSUER, REGION } from '../infra/aws.ts';
import { evaluate, type Verdict } from './evaluate.ts';
import { type StackDocuments, stackDocuments } from './stack-documents.ts';

let documents: StackDocuments;
beforeAll(async () => {
  documents = await stackDocuments();
});

const NAME = 'omicron-browser-dev';

describe('service accounts', () => {
  const become = (
    role: string,
    sub: string,
    { aud = 'sts.amazonaws.com', issuer = ISSUER, provider = arn.oidc } = {},
  ): Promise<Verdict> =>
    evaluate(
      {
        principal: provider,
        action: 'sts:AssumeRoleWithWebIdentity',
        resource: arn.role(`${NAME}-${role}`),
        account: ACCOUNT,
        context: { [`${issuer}:sub`]: sub, [`${issuer}:aud`]: aud },
      },
      { identity: [], resource: documents.trustOf(role) },
    );

  const ROLES = [
    ['uploader', 'system:serviceaccount:omicron-browser:pw-mcp-runner-sa'],
    ['controller', 'system:serviceaccount:omicron-browser-system:browser-session-controller-sa'],
    ['cluster-autoscaler', 'system:serviceaccount:kube-system:cluster-autoscaler'],
    ['vpc-cni', 'system:serviceaccount:kube-system:aws-node'],
  ] as const;

  test.each(ROLES)('the role %s is for %s', async (role, account) => {
    expect(await become(role, account)).toEqual({ allowed: true, refusedBy: [] });
  });

  test.each(ROLES)('the role %s is for no other account than %s', async (role, account) => {
    const [, , namespace, name] = account.split(':');
    const others = [
      `system:serviceaccount:default:${name}`,
      `system:serviceaccount:${namespace}:default`,
      `${account}-2`,
      'system:serviceaccount:*:*',
      ...ROLES.map(([, other]) => other).filter(other => other !== account),
    ];
    for (const other of others) expect((await become(role, other)).allowed, other).toBe(false);
  });

  test.each(ROLES)(
    'the role %s takes no token for another audience, or from another cluster, of %s',
    async (role, account) => {
      expect((await become(role, account, { aud: 'https://kubernetes.default.svc' })).allowed).toBe(false);
      expect((await become(role, account, { issuer: `oidc.eks.${REGION}.amazonaws.com/id/OTHER` })).allowed).toBe(
        false,
      );
      const provider = arn.oidc.replace('0123456789ABCDEF', 'OTHER');
      expect((await become(role, account, { provider })).allowed).toBe(false);
    },
  );
});

describe('the artifact reader', () => {
  const become = async (role: string): Promise<boolean> => {
    const verdict = await evaluate(
      {
        principal: arn.role(role).replace(':iam:', ':sts:').replace(':role/', ':assumed-role/').concat('/somebody'),
        action: 'sts:AssumeRole',
        resource: arn.role(`${NAME}-artifact-reader`),
        account: ACCOUNT,
        context: {},
      },
      { identity: [], resource: documents.trustOf('artifact-reader') },
    );
    return verdict.allowed;
  };

  test('is assumed by the roles that the configuration names, and no other', async () => {
    expect(await become('omicron-admin')).toBe(true);
    expect(await become('omicron-developer')).toBe(false);
    expect(await become(`${NAME}-controller`)).toBe(false);
    expect(await become(`${NAME}-uploader`)).toBe(false);
  });
});

describe('the cluster autoscaler', () => {
  const may = async (action: string, resource: string, tags: Record<string, string> = {}): Promise<boolean> => {
    const verdict = await evaluate(
      {
        principal: `arn:aws:sts::${ACCOUNT}:assumed-role/${NAME}-cluster-autoscaler/pod`,
        action,
        resource,
        account: ACCOUNT,
        context: tags,
      },
      { identity: [documents.identityOf('cluster-autoscaler')] },
    );
    return verdict.allowed;
  };
  const group = `arn:aws:autoscaling:${REGION}:${ACCOUNT}:autoScalingGroup:1b2c:autoScalingGroupName/eks-browser`;
  const owner = (cluster: string) => ({ [`aws:ResourceTag/k8s.io/cluster-autoscaler/${cluster}`]: 'owned' });

  test('sizes the groups of its own cluster and of no other', async () => {
    expect(await may('autoscaling:SetDesiredCapacity', group, owner(NAME))).toBe(true);
    expect(await may('autoscaling:TerminateInstanceInAutoScalingGroup', group, owner(NAME))).toBe(true);
    expect(await may('autoscaling:SetDesiredCapacity', group, owner('another'))).toBe(false);
    expect(await may('autoscaling:SetDesiredCapacity', group)).toBe(false);
  });

  test('looks at groups and node groups, and changes none of their settings', async () => {
    expect(await may('autoscaling:DescribeAutoScalingGroups', '*')).toBe(true);
    const nodes = (cluster: string) => `arn:aws:eks:${REGION}:${ACCOUNT}:nodegroup/${cluster}/browser-1/a1b2`;
    expect(await may('eks:DescribeNodegroup', nodes(NAME))).toBe(true);
    expect(await may('eks:DescribeNodegroup', nodes('another'))).toBe(false);
    expect(await may('autoscaling:UpdateAutoScalingGroup', group, owner(NAME))).toBe(false);
    expect(await may('eks:UpdateNodegroupConfig', nodes(NAME))).toBe(false);
  });
});
