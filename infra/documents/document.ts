type PrincipalKind = 'AWS' | 'Service' | 'Federated';

/**
 * A statement of an IAM document: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements.html
 */
export interface Statement {
  readonly Sid: string;
  readonly Effect: 'Allow' | 'Deny';
  readonly Principal?: '*' | Readonly<Partial<Record<PrincipalKind, string | readonly string[]>>>;
  readonly Action?: readonly string[];
  readonly NotAction?: readonly string[];
  readonly Resource?: readonly string[];
  readonly NotResource?: readonly string[];
  readonly Condition?: Readonly<Record<string, Readonly<Record<string, string | readonly string[]>>>>;
}

export interface Document {
  readonly Version: '2012-10-17';
  readonly Statement: readonly Statement[];
}

export const iamDocument = (...statements: readonly Statement[]): Document => ({
  Version: '2012-10-17',
  Statement: statements,
});
