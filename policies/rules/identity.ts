import { conditionValues, type PolicyStatement, parseStatements, TYPES_WITH_DOCUMENT } from '../documents.ts';
import { type ResourceRule, toList } from '../rule.ts';

const ROLE = 'aws:iam/role:Role';
const KEY = 'aws:kms/key:Key';

const hasWildcard = (text: string): boolean => /[*?]/.test(text);

/** Conditions that are missing before only the one meant can become the role; undefined when nothing is. */
function findUnpinned(statement: PolicyStatement): string | undefined {
  if (statement.effect !== 'Allow') return undefined;
  if (statement.principals.some(([kind, value]) => kind === '*' || hasWildcard(value)))
    return 'name the principal, without *';
  if (statement.principals.some(([kind, value]) => kind === 'AWS' && /^(\d{12}|.*:root)$/.test(value))) {
    return 'name roles; the root of an account means every principal in it';
  }
  if (!statement.actions.includes('sts:AssumeRoleWithWebIdentity')) return undefined;
  const claims = Object.values(statement.conditions).flatMap(Object.keys);
  for (const claim of ['sub', 'aud']) {
    const keys = claims.filter(key => key.endsWith(`:${claim}`));
    const values = keys.flatMap(key => conditionValues(statement, ['StringEquals'], key));
    // StringEquals takes * literally, StringLike does not: the first is asked for, in the second none may stand.
    if (values.length === 0 || values.some(hasWildcard)) return `compare ${claim} by StringEquals with one value`;
  }
  return undefined;
}

const trust: ResourceRule = {
  name: 'trust-pinned',
  reason: 'A trust policy that is too wide lets any pod, token or account assume the role.',
  link: 'https://docs.aws.amazon.com/eks/latest/best-practices/identity-and-access-management.html',
  scope: 'resource',
  types: [ROLE],
  check: role =>
    parseStatements(role).flatMap(statement => {
      const message = findUnpinned(statement);
      return message ? [{ message, statement: statement.sid }] : [];
    }),
};

/** `*`, or everything of a service; `Describe*` and the like are wildcards too: what AWS adds tomorrow is in them. */
const wildGrant: ResourceRule = {
  name: 'no-wildcard-grant',
  reason: 'A wildcard grants rights that were never reviewed, and grows with every action that AWS adds.',
  link: 'https://docs.aws.amazon.com/IAM/latest/UserGuide/best-practices.html#grant-least-privilege',
  scope: 'resource',
  types: TYPES_WITH_DOCUMENT,
  check: resource =>
    parseStatements(resource)
      .filter(({ effect }) => effect === 'Allow')
      .flatMap(({ sid, actions, resources, byException }) =>
        [
          ...(byException ? ['grant by Action and Resource, not by NotAction or NotResource'] : []),
          ...(actions.some(hasWildcard) ? ['name the actions'] : []),
          // In a key's own policy `*` means the key.
          ...(resource.type !== KEY && resources.includes('*') ? ['name the resources'] : []),
        ].map(message => ({ message, statement: sid })),
      ),
};

const openPrincipal: ResourceRule = {
  name: 'no-open-principal',
  reason:
    'A bucket, key or repository that allows every principal is public, whatever its conditions are meant to say.',
  link: 'https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_principal.html',
  scope: 'resource',
  types: TYPES_WITH_DOCUMENT.filter(type => type !== ROLE), // a role's trust has a rule of its own
  check: resource =>
    parseStatements(resource)
      .filter(({ effect, principals }) => effect === 'Allow' && principals.some(([kind]) => kind === '*'))
      .map(({ sid }) => ({ message: 'name the principal', statement: sid })),
};

const noUsers: ResourceRule = {
  name: 'no-long-lived-credentials',
  reason: 'An access key is valid until it is revoked; a role gives credentials for hours.',
  link: 'https://docs.aws.amazon.com/IAM/latest/UserGuide/best-practices.html#bp-workloads-use-roles',
  scope: 'resource',
  types: ['aws:iam/user:User', 'aws:iam/accessKey:AccessKey'],
  check: () => ['use a role'],
};

/** AWS's managed policies that EKS needs and that grant nothing else. */
const MANAGED = [
  'AmazonEKSClusterPolicy',
  'AmazonEKSWorkerNodePolicy',
  'AmazonEC2ContainerRegistryPullOnly',
  'AmazonEKS_CNI_Policy',
].map(name => `arn:aws:iam::aws:policy/${name}`);

const managed: ResourceRule = {
  name: 'managed-policies-listed',
  reason: "AWS's managed policies are wide and change without a commit here; those in use are listed.",
  link: 'https://docs.aws.amazon.com/IAM/latest/UserGuide/access_policies_managed-vs-inline.html',
  scope: 'resource',
  types: ['aws:iam/rolePolicyAttachment:RolePolicyAttachment', ROLE],
  check: ({ props }) =>
    [...toList(props.policyArn), ...toList(props.managedPolicyArns)]
      .map(String)
      .filter(arn => !MANAGED.includes(arn))
      .map(arn => `${arn} is not on the list: write a policy of its own, or add it with the reason`),
};

export const IDENTITY = [trust, wildGrant, openPrincipal, noUsers, managed];
