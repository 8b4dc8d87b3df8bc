import { ApiObject } from 'cdk8s';
import type { Construct } from 'constructs';
import { NAMESPACES } from '../../contract/names.ts';
import type { Environment } from '../environment-type.ts';
import type { AdmissionPolicy } from './admission-pod.ts';
import { runnerPolicies } from './admission-policies.ts';
import { meta, selectNamespace } from './meta.ts';

const apiVersion = 'admissionregistration.k8s.io/v1';

/**
 * Objects that the API server refuses in the runners' namespace to every client: Pod Security says what a pod may not be,
 * these say that it can only be a runner. cdk8s-plus-28 has no v1 of this kind.
 * https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/
 */
export function admission(scope: Construct, env: Environment): void {
  for (const policy of runnerPolicies(env)) {
    new ApiObject(scope, `policy-${policy.name}`, {
      apiVersion,
      kind: 'ValidatingAdmissionPolicy',
      metadata: meta(policy.name, { wave: 'isolation' }),
      spec: spec(policy),
    });
    new ApiObject(scope, `binding-${policy.name}`, {
      apiVersion,
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata: meta(policy.name, { wave: 'bindings' }),
      spec: {
        policyName: policy.name,
        ...(policy.params ? { paramRef: paramRef(policy.params) } : {}),
        validationActions: ['Deny', 'Audit'],
        matchResources: { namespaceSelector: selectNamespace(NAMESPACES.runners) },
      },
    });
  }
}

const paramRef = ({ namespace, labels }: NonNullable<AdmissionPolicy['params']>) => ({
  namespace,
  selector: { matchLabels: labels },
  parameterNotFoundAction: 'Deny',
});

const spec = ({ on, unless, params, variables, rules }: AdmissionPolicy) => ({
  failurePolicy: 'Fail',
  ...(params ? { paramKind: { apiVersion: 'v1', kind: params.kind } } : {}),
  matchConstraints: {
    resourceRules: [
      {
        apiGroups: [on.group ?? ''],
        apiVersions: ['v1'],
        operations: [...on.operations],
        resources: [...on.resources],
      },
    ],
  },
  ...(unless ? { matchConditions: [{ name: unless.name, expression: `!(${unless.expression})` }] } : {}),
  ...(variables ? { variables: Object.entries(variables).map(([name, expression]) => ({ name, expression })) } : {}),
  validations: rules.map(({ must, else: message }) => ({ expression: must, message, reason: 'Forbidden' })),
});
