import type { Breaks } from '../broken.ts';

const BUCKET_POLICY = 'aws:s3/bucketPolicy:BucketPolicy';
const ROLE = 'aws:iam/role:Role';
const ROLE_POLICY = 'aws:iam/rolePolicy:RolePolicy';
const KEY = 'aws:kms/key:Key';

const TAGS = { project: 'omicron-browser', env: 'dev', 'managed-by': 'pulumi' };

/** How each rule of policies/rules/identity.ts is broken, in as many ways as a person would think of. */
export const IDENTITY_BREAKS: Breaks = {
  'trust-pinned': {
    'any service account becomes the uploader': edit =>
      edit.statement(ROLE, 'uploader', 'OneServiceAccount', statement => {
        const { StringEquals } = statement.Condition as { StringEquals: Record<string, string> };
        const [issuer] = Object.keys(StringEquals).map(key => key.replace(/:(sub|aud)$/, ''));
        statement.Condition = {
          StringEquals: { [`${issuer}:aud`]: 'sts.amazonaws.com' },
          StringLike: { [`${issuer}:sub`]: 'system:serviceaccount:*:pw-mcp-runner-sa' },
        };
      }),
    'the audience is not compared': edit =>
      edit.statement(ROLE, 'controller', 'OneServiceAccount', statement => {
        const { StringEquals } = statement.Condition as { StringEquals: Record<string, string> };
        statement.Condition = {
          StringEquals: Object.fromEntries(Object.entries(StringEquals).filter(([key]) => key.endsWith(':sub'))),
        };
      }),
    'there is no condition': edit =>
      edit.statement(ROLE, 'cluster-autoscaler', 'OneServiceAccount', statement => {
        delete statement.Condition;
      }),
    'every principal reads recordings': edit =>
      edit.statement(ROLE, 'artifact-reader', 'NamedRoles', statement => {
        statement.Principal = { AWS: '*' };
      }),
    'the whole account reads recordings': edit =>
      edit.statement(ROLE, 'artifact-reader', 'NamedRoles', statement => {
        statement.Principal = { AWS: 'arn:aws:iam::111122223333:root' };
      }),
  },
  'no-wildcard-grant': {
    'a service is granted whole': edit =>
      edit.statement(ROLE_POLICY, 'uploader', 'WriteRecordings', statement => {
        statement.Action = ['s3:*'];
      }),
    'a family of actions is granted': edit =>
      edit.statement(ROLE_POLICY, 'artifact-reader', 'ReadRecordings', statement => {
        statement.Action = 's3:Get*';
      }),
    'every resource is granted': edit =>
      edit.statement(ROLE_POLICY, 'controller', 'ListRecordings', statement => {
        statement.Resource = '*';
      }),
    'all but something is granted': edit =>
      edit.statement(ROLE_POLICY, 'controller', 'ListRecordings', statement => {
        delete statement.Action;
        statement.NotAction = ['s3:DeleteBucket'];
      }),
    'the key of the recordings is given to the account': edit =>
      edit.statement(KEY, 'artifacts', 'AccountAdministers', statement => {
        statement.Action = 'kms:*';
      }),
  },
  'no-open-principal': {
    'the log bucket accepts every principal': edit =>
      edit.statement(BUCKET_POLICY, 'access-log', 'ReceiveAccessLog', statement => {
        statement.Principal = '*';
      }),
    'the key serves every principal that comes through S3': edit =>
      edit.statement(KEY, 'artifacts', 'UploaderEncrypts', statement => {
        statement.Principal = { AWS: '*' };
      }),
  },
  'no-long-lived-credentials': {
    'an access key is made': edit => edit.add('aws:iam/accessKey:AccessKey', 'ci', { user: 'ci' }),
    'a user is made': edit => edit.add('aws:iam/user:User', 'ci', { name: 'ci', tags: TAGS }),
  },
  'managed-policies-listed': {
    'nodes are administrators': edit =>
      edit.change('aws:iam/rolePolicyAttachment:RolePolicyAttachment', 'node-AmazonEKSWorkerNodePolicy', props => {
        props.policyArn = 'arn:aws:iam::aws:policy/AdministratorAccess';
      }),
  },
};
