import type { Architecture } from '../contract/names.ts';

/** The images of nodes that EKS makes for each. */
export const AMI_TYPES = {
  amd64: 'AL2023_x86_64_STANDARD',
  arm64: 'AL2023_ARM_64_STANDARD',
} as const satisfies Record<Architecture, string>;

/**
 * The architecture of an instance type: families of Graviton have a g right after their generation.
 * https://docs.aws.amazon.com/ec2/latest/instancetypes/instance-type-names.html
 */
export const architectureOf = (instanceType: string): Architecture =>
  /^(a1\.|[a-z]+\d+g)/.test(instanceType) ? 'arm64' : 'amd64';
