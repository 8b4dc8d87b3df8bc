import { SERVICE_ACCOUNTS } from '../../contract/names.ts';

/**
 * Rights of the controller on one kind of object in the runners' namespace: each verb, and what fails without it.
 */
export interface Right {
  /** API group; the core's unless given. */
  readonly group?: string;
  readonly resource: string;
  readonly verbs: Readonly<Record<string, string>>;
  /** Only on the object of this name. */
  readonly only?: string;
}

/**
 * All rights of the controller (O10). There is no right outside the runners' namespace, and none on Secrets,
 * ConfigMaps, `pods/exec`, `pods/log` (the end of a runner's log is in its status) or `endpoints` (the watch on pods
 * gives the same information).
 */
export const CONTROLLER_RIGHTS: readonly Right[] = [
  {
    resource: 'pods',
    verbs: {
      get: 'after an unknown answer it asks what is there; the watch may lag',
      list: 'the watch begins with a list, and again after 410 Gone',
      watch: 'readiness, deaths and deletions reach it as they happen',
      create: 'a runner is a pod made from the template',
      delete: 'the end of a runner, with a UID precondition',
      patch:
        'the claim writes labels and annotations of the lease and moves the pod to an owner that outlives the template',
    },
  },
  {
    group: 'discovery.k8s.io',
    resource: 'endpointslices',
    verbs: {
      get: 'an entry is added to the slice as it is now: other replicas write there too',
      list: 'names are found whose pod is gone, also those of a replica that is gone',
      create: 'each runner has a name under which its MCP endpoint is reached',
      update: 'a name is added, and leads to the controller once its lease has ended',
      delete: 'a slice without names',
    },
  },
  {
    resource: 'podtemplates',
    verbs: { list: 'the watch begins with a list', watch: 'a changed template replaces warm runners' },
  },
  {
    resource: 'serviceaccounts',
    only: SERVICE_ACCOUNTS.runner,
    verbs: { get: 'a leased pod is owned by this account, and an owner is named by UID' },
  },
];
