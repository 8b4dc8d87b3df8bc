import { anonymousPrincipal, runSimulation } from '@cloud-copilot/iam-simulate';

/** One permission that AWS would look up while it serves a request. */
export interface PermissionCheck {
  /** ARN of the session that makes the request, or `anonymous` for an unsigned one. */
  readonly principal: string;
  readonly action: string;
  readonly resource: string;
  /** Account that owns the resource. */
  readonly account: string;
  /**
   * Condition keys that the request carries. Keys that IAM does not know for the action are an error, so that a typo
   * is noticed.
   */
  readonly context: Readonly<Record<string, string>>;
}

export interface PolicyDocuments {
  /** Documents attached to the requesting role. */
  readonly identity: readonly unknown[];
  /** Document attached to the bucket, key or role, if any. */
  readonly resource?: unknown;
}

export interface Verdict {
  readonly allowed: boolean;
  /** `Sid`s of the statements that refused it; empty when nothing allowed it in the first place. */
  readonly refusedBy: readonly string[];
}

/**
 * The simulator supports condition keys with a variable part only after a slash. KMS writes a colon, and an EKS
 * issuer contains slashes. Such keys are rewritten in request and documents alike, so that the simulator still
 * compares them.
 */
const respell = <T>(value: T): T =>
  JSON.parse(
    JSON.stringify(value)
      .replaceAll('kms:EncryptionContext:', 'aws:RequestTag/kms-EncryptionContext-')
      .replace(/oidc\.eks\.[\w.-]+\/id\/(\w+):(sub|aud)/g, 'aws:RequestTag/oidc-$1-$2'),
  );

/**
 * Evaluates one permission as IAM would: explicit denials first, then what identity and resource documents allow. The
 * simulator checks documents, actions, resources and keys against AWS's own service reference.
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_evaluation-logic.html
 */
export async function evaluate(check: PermissionCheck, documents: PolicyDocuments): Promise<Verdict> {
  const answer = await runSimulation(
    {
      request: {
        principal: check.principal === 'anonymous' ? anonymousPrincipal : check.principal,
        action: check.action,
        resource: { resource: check.resource, accountId: check.account },
        contextVariables: respell({ ...check.context }),
      },
      identityPolicies: documents.identity.map((policy, index) => ({
        name: `identity-${index}`,
        policy: respell(policy),
      })),
      ...(documents.resource === undefined ? {} : { resourcePolicy: respell(documents.resource) }),
      serviceControlPolicies: [],
      resourceControlPolicies: [],
    },
    {},
  );
  if (answer.resultType !== 'single') throw new Error(`not evaluated: ${JSON.stringify(answer)}`);
  const { analysis, ignoredContextKeys = [] } = answer.result;
  if (ignoredContextKeys.length > 0) throw new Error(`${check.action} carries no ${ignoredContextKeys.join(', ')}`);
  const denials = [
    ...(analysis.identityAnalysis?.denyStatements ?? []),
    ...(analysis.resourceAnalysis?.denyStatements ?? []),
  ];
  return {
    allowed: answer.overallResult === 'Allowed',
    refusedBy: denials.map(({ explain }) => explain.identifier ?? ''),
  };
}
