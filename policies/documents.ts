import { type Resource, readPath, toList } from './rule.ts';

/** A statement of an IAM document; fields that may be a string or a list are lists. */
export interface PolicyStatement {
  readonly sid: string;
  readonly effect: string;
  readonly actions: readonly string[];
  readonly resources: readonly string[];
  /** Kind and value: `['AWS', 'arn:…']`, or `['*', '*']` for every principal. */
  readonly principals: readonly (readonly [kind: string, value: string])[];
  readonly conditions: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /** It applies to everything except what it names (`NotAction`, `NotResource`). */
  readonly byException: boolean;
}

/** Which property of which type holds an IAM document. */
const DOCUMENTS: Readonly<Record<string, string>> = {
  'aws:iam/role:Role': 'assumeRolePolicy',
  'aws:iam/rolePolicy:RolePolicy': 'policy',
  'aws:iam/policy:Policy': 'policy',
  'aws:iam/userPolicy:UserPolicy': 'policy',
  'aws:iam/groupPolicy:GroupPolicy': 'policy',
  'aws:s3/bucketPolicy:BucketPolicy': 'policy',
  'aws:kms/key:Key': 'policy',
  'aws:ecr/repositoryPolicy:RepositoryPolicy': 'policy',
  'aws:ec2/vpcEndpoint:VpcEndpoint': 'policy',
};

export const TYPES_WITH_DOCUMENT = Object.keys(DOCUMENTS);

/** The statements of a resource's document; empty for a resource that has none. */
export function parseStatements(resource: Resource): readonly PolicyStatement[] {
  const property = DOCUMENTS[resource.type];
  const raw = property ? resource.props[property] : undefined;
  if (raw === undefined || raw === null) return [];
  const document: unknown = typeof raw === 'string' ? JSON.parse(raw) : raw;
  return toList(readPath(document, 'Statement')).map(statement => ({
    sid: String(readPath(statement, 'Sid') ?? ''),
    effect: String(readPath(statement, 'Effect')),
    actions: toList(readPath(statement, 'Action')).map(String),
    resources: toList(readPath(statement, 'Resource')).map(String),
    principals: parsePrincipals(readPath(statement, 'Principal')),
    conditions: (readPath(statement, 'Condition') ?? {}) as PolicyStatement['conditions'],
    byException: readPath(statement, 'NotAction') !== undefined || readPath(statement, 'NotResource') !== undefined,
  }));
}

function parsePrincipals(principal: unknown): readonly (readonly [string, string])[] {
  if (principal === '*') return [['*', '*']];
  return Object.entries(principal ?? {}).flatMap(([kind, values]) =>
    toList(values).map(value => [value === '*' ? '*' : kind, String(value)] as const),
  );
}

/** Values that a condition compares a key with, for the given operators; condition keys are case-insensitive. */
export function conditionValues(
  statement: PolicyStatement,
  operators: readonly string[],
  key: string,
): readonly string[] {
  return Object.entries(statement.conditions)
    .filter(([operator]) => operators.includes(operator))
    .flatMap(([, keys]) => Object.entries(keys))
    .filter(([name]) => name.toLowerCase() === key.toLowerCase())
    .flatMap(([, values]) => toList(values).map(String));
}
