/**
 * The answers of AWS, as far as the program reads them back: ARNs, ids, addresses. Shared by the mocks of the unit
 * tests and the engine that runs the program whole.
 */
export const ACCOUNT = '111122223333';
export const REGION = 'eu-central-1';
export const ISSUER = `oidc.eks.${REGION}.amazonaws.com/id/0123456789ABCDEF`;

export const arn = {
  role: (name: string): string => `arn:aws:iam::${ACCOUNT}:role/${name}`,
  bucket: (name: string): string => `arn:aws:s3:::${name}`,
  key: (name: string): string => `arn:aws:kms:${REGION}:${ACCOUNT}:key/${name}`,
  oidc: `arn:aws:iam::${ACCOUNT}:oidc-provider/${ISSUER}`,
};

type Props = Readonly<Record<string, unknown>>;

const COMPUTED: Readonly<Record<string, (name: string, inputs: Props) => Props>> = {
  'aws:iam/role:Role': (name, inputs) => ({ arn: arn.role(String(inputs.name ?? name)) }),
  'aws:iam/openIdConnectProvider:OpenIdConnectProvider': () => ({ arn: arn.oidc }),
  'aws:kms/key:Key': name => ({ arn: arn.key(name), keyId: name }),
  'aws:s3/bucket:Bucket': (_, inputs) => ({ arn: arn.bucket(String(inputs.bucket)) }),
  'aws:cloudwatch/logGroup:LogGroup': (_, inputs) => ({
    arn: `arn:aws:logs:${REGION}:${ACCOUNT}:log-group:${inputs.name}`,
  }),
  'aws:ecr/repository:Repository': (_, inputs) => ({
    repositoryUrl: `${ACCOUNT}.dkr.ecr.${REGION}.amazonaws.com/${inputs.name}`,
  }),
  'aws:ec2/eip:Eip': () => ({ publicIp: '198.51.100.7' }),
  'aws:ec2/launchTemplate:LaunchTemplate': () => ({ latestVersion: 1 }),
  'aws:eks/nodeGroup:NodeGroup': name => ({ resources: [{ autoscalingGroups: [{ name: `eks-${name}` }] }] }),
  'eks:index:Cluster': () => ({
    oidcProviderUrl: `https://${ISSUER}`,
    oidcIssuer: ISSUER,
    kubeconfigJson: '{"apiVersion":"v1","kind":"Config"}',
  }),
};

/** Inputs and what AWS adds to them once the resource is there. */
export const created = (type: string, name: string, inputs: Props): Props => ({
  ...inputs,
  ...COMPUTED[type]?.(name, inputs),
});

/** Answers of functions that the program asks before anything is made. */
export function answer(token: string): Props {
  if (token === 'aws:index/getCallerIdentity:getCallerIdentity') return { accountId: ACCOUNT, id: ACCOUNT };
  throw new Error(`the program asked AWS something new: ${token}`);
}
