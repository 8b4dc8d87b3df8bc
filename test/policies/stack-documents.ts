import type { StackConfig } from '../../infra/config.ts';
import { type Captured, type CapturedStack, capture, stackConfig } from '../infra/capture.ts';

/** The captured stack `dev`, and its documents by the resource they stand on. */
export interface StackDocuments {
  readonly stack: CapturedStack;
  readonly bucket: string;
  readonly keyArn: string;
  identityOf(role: string): unknown;
  readonly bucketPolicy: unknown;
  readonly keyPolicy: unknown;
  readonly profilesKeyArn: string;
  readonly profilesKeyPolicy: unknown;
  trustOf(role: string): unknown;
}

/** `artifacts`: what of its configuration differs from the committed one. */
export async function stackDocuments(artifacts: Partial<StackConfig['artifacts']> = {}): Promise<StackDocuments> {
  const config = stackConfig('dev');
  const stack = await capture({ ...config, artifacts: { ...config.artifacts, ...artifacts } });
  const of = (type: string, name: string): Captured => {
    const found = stack.resources.find(one => one.type === type && one.name === name);
    if (!found) throw new Error(`the stack has no ${type} ${name}`);
    return found;
  };
  const document = (type: string, name: string, property: string): unknown =>
    JSON.parse(String(of(type, name).props[property]));
  return {
    stack,
    bucket: String(stack.outputs.artifactsBucket),
    keyArn: String(stack.outputs.artifactsKeyArn),
    identityOf: role => document('aws:iam/rolePolicy:RolePolicy', role, 'policy'),
    bucketPolicy: document('aws:s3/bucketPolicy:BucketPolicy', 'artifacts', 'policy'),
    keyPolicy: document('aws:kms/key:Key', 'artifacts', 'policy'),
    profilesKeyArn: String(stack.outputs.profilesKeyArn),
    profilesKeyPolicy: document('aws:kms/key:Key', 'profiles', 'policy'),
    trustOf: role => document('aws:iam/role:Role', role, 'assumeRolePolicy'),
  };
}
