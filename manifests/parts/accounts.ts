import { k8s } from 'cdk8s-plus-28';
import type { Construct } from 'constructs';
import { NAMESPACES, SERVICE_ACCOUNTS } from '../../contract/names.ts';
import type { Environment } from '../environment-type.ts';
import { CONTROLLER_RIGHTS } from './controller-rights.ts';
import { KEEP, meta } from './meta.ts';

/** Placeholder pods run under an account without any right. */
export const SPARE_ACCOUNT = 'spare-runner-sa';

const CONTROLLER_ROLE = 'browser-session-controller';

const assumeRole = (roleArn: string | undefined): Record<string, string> =>
  roleArn ? { 'eks.amazonaws.com/role-arn': roleArn } : {};

/** Service accounts, none of which mounts a token automatically, and the only Role: the controller's. */
export function accounts(scope: Construct, env: Environment): void {
  const account = (name: string, namespace: string, annotations: Readonly<Record<string, string>> = {}) =>
    new k8s.KubeServiceAccount(scope, `account-${name}`, {
      metadata: meta(name, { namespace, wave: 'isolation', annotations }),
      automountServiceAccountToken: false,
    });
  // Leased runners are owned by their account: deleting it would delete them (admission policy runner-account-stays).
  account(SERVICE_ACCOUNTS.runner, NAMESPACES.runners, { ...KEEP, ...assumeRole(env.roles?.uploader) });
  account(SERVICE_ACCOUNTS.controller, NAMESPACES.system, assumeRole(env.roles?.controller));
  account(SERVICE_ACCOUNTS.egress, NAMESPACES.system);
  account(SPARE_ACCOUNT, NAMESPACES.system);

  new k8s.KubeRole(scope, 'controller-role', {
    metadata: meta(CONTROLLER_ROLE, {
      namespace: NAMESPACES.runners,
      wave: 'isolation',
      waives: {
        'access-to-create-pods':
          'Making runners is its work; their namespace holds no Secret (quota: 0) and admits pods like the template only.',
      },
    }),
    rules: CONTROLLER_RIGHTS.map(({ group = '', resource, verbs, only }) => ({
      apiGroups: [group],
      resources: [resource],
      verbs: Object.keys(verbs),
      ...(only ? { resourceNames: [only] } : {}),
    })),
  });
  new k8s.KubeRoleBinding(scope, 'controller-binding', {
    metadata: meta(CONTROLLER_ROLE, { namespace: NAMESPACES.runners, wave: 'isolation' }),
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: CONTROLLER_ROLE },
    subjects: [{ kind: 'ServiceAccount', name: SERVICE_ACCOUNTS.controller, namespace: NAMESPACES.system }],
  });
}
