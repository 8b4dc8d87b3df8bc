import {
  ENDPOINT_MANAGER,
  LABELS,
  NAMESPACES,
  PORTS,
  RUNNERS_SERVICE,
  SERVICE_ACCOUNTS,
} from '../../contract/names.ts';
import type { Environment } from '../environment-type.ts';
import {
  type AdmissionPolicy,
  ALL,
  CREATE_PODS,
  cel,
  environmentPolicy,
  hostPolicy,
  security,
  shapePolicy,
  volumesPolicy,
} from './admission-pod.ts';
import { CONTROLLER as CONTROLLER_PODS } from './meta.ts';
import { runnerAccount } from './runner-endpoints.ts';

/** Name of the pod whose token was sent: the API server adds it to the tokens that it gives to pods, and checks that the pod exists. */
const SENDER = "request.userInfo.?extra['authentication.kubernetes.io/pod-name'].orValue([])";
const labelOf = (object: string, label: string): string => `${object}.metadata.?labels[${cel(label)}].orValue('')`;
const MANAGED_BY = 'endpointslice.kubernetes.io/managed-by';
const UUID = '[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}';
/** A name ends with the id of its runner: the prefix is a setting. */
const isNamedFor = (id: string): string => `${id}.matches(${cel(`^${UUID}$`)}) && object.metadata.name.endsWith(${id})`;

const SERVICE_NAME = 'kubernetes.io/service-name';
const NAME_SLICES = {
  group: 'discovery.k8s.io',
  operations: ['CREATE', 'UPDATE'],
  resources: ['endpointslices'],
} as const;

const CONTROLLER = `system:serviceaccount:${NAMESPACES.system}:${SERVICE_ACCOUNTS.controller}`;

/** Judge the creation of a runner's pod: its spec cannot change later. Names say what a pod is refused for. */
const newPods = (env: Environment): readonly AdmissionPolicy[] => [
  {
    name: 'runner-pod-by-controller',
    on: CREATE_PODS,
    rules: [
      {
        must: `request.userInfo.username == ${cel(CONTROLLER)}`,
        else: 'only the session controller creates pods here; other workloads belong in another namespace',
      },
    ],
  },
  {
    name: 'runner-pod-image',
    on: CREATE_PODS,
    variables: ALL,
    rules: [
      {
        must: `variables.all.all(c, c.image in ${cel([env.images.runner])})`,
        else: `a runner runs the image ${env.images.runner} and no other`,
      },
    ],
  },
  shapePolicy(env),
  environmentPolicy(env),
  volumesPolicy(env),
  hostPolicy(env),
  security,
  {
    name: 'runner-pod-identity',
    on: CREATE_PODS,
    rules: [
      {
        must: `object.spec.?serviceAccountName.orValue('') == ${cel(runnerAccount.serviceAccountName)}`,
        else: `a runner runs as ${runnerAccount.serviceAccountName}`,
      },
      {
        must: 'object.spec.?automountServiceAccountToken.orValue(true) == false',
        else: 'a runner mounts no token for the API server',
      },
      {
        must: 'object.spec.?imagePullSecrets.orValue([]).size() == 0',
        else: 'nodes pull the image; a runner names no pull secret',
      },
    ],
  },
];

/** Keep a running pod as it was created, and closed. */
const runningPods: readonly AdmissionPolicy[] = [
  {
    // The controller finds a runner's pod by these: a pod with those of another runner would be taken for it.
    name: 'runner-pod-label',
    on: { operations: ['CREATE', 'UPDATE'], resources: ['pods'] },
    rules: [
      {
        must: `request.operation != 'CREATE' || (${isNamedFor(labelOf('object', LABELS.runnerId))})`,
        else: 'the name of a runner ends with its id',
      },
      {
        must:
          "request.operation != 'UPDATE' || (" +
          [LABELS.app, LABELS.runnerId]
            .map(label => `${labelOf('object', label)} == ${labelOf('oldObject', label)}`)
            .join(' && ') +
          ')',
        else: 'a pod stays the runner that it is',
      },
    ],
  },
  {
    name: 'runner-pod-image-stays',
    on: { operations: ['UPDATE'], resources: ['pods'] },
    // A pod of an earlier image runs until its lease ends, so the rule is that the image does not change.
    rules: [
      {
        must:
          'object.spec.containers.map(c, c.image) == oldObject.spec.containers.map(c, c.image) && ' +
          'object.spec.?initContainers.orValue([]).map(c, c.image) == oldObject.spec.?initContainers.orValue([]).map(c, c.image)',
        else: 'the image of a running runner does not change; end it and lease another',
      },
    ],
  },
  {
    name: 'runner-pod-no-exec',
    on: {
      operations: ['CONNECT'],
      resources: ['pods/exec', 'pods/attach', 'pods/portforward', 'pods/proxy', 'services/proxy'],
    },
    rules: [
      {
        must: 'false',
        else: "a user's browser may not be entered: read its logs and the timeline of its session instead",
      },
    ],
  },
  {
    name: 'runner-pod-no-debug',
    on: { operations: ['UPDATE'], resources: ['pods/ephemeralcontainers'] },
    rules: [
      { must: 'false', else: "no container may be added to a user's browser: debug a runner of your own elsewhere" },
    ],
  },
];

/** Keep what leads to a runner, and the account that owns it. */
const aroundPods: readonly AdmissionPolicy[] = [
  {
    name: 'runner-service-inside',
    on: { operations: ['CREATE', 'UPDATE'], resources: ['services'] },
    rules: [
      {
        must:
          `object.metadata.name == ${cel(RUNNERS_SERVICE)} && object.spec.?clusterIP.orValue('') == 'None' && ` +
          "object.spec.?selector.orValue({}).size() == 0 && object.spec.?type.orValue('ClusterIP') == 'ClusterIP' && " +
          'object.spec.?externalIPs.orValue([]).size() == 0',
        else: 'the one Service here is headless and has the names of runners, which are reached from inside the cluster alone',
      },
    ],
  },
  {
    name: 'runner-names',
    on: NAME_SLICES,
    rules: [
      {
        must: `request.userInfo.username == ${cel(CONTROLLER)} && ${SENDER}.size() == 1`,
        else: "names of runners are written with the token of a controller's pod",
      },
      {
        must:
          `${labelOf('object', SERVICE_NAME)} == ${cel(RUNNERS_SERVICE)} && ` +
          `${labelOf('object', MANAGED_BY)} == ${cel(ENDPOINT_MANAGER)} && object.addressType != 'FQDN'`,
        else: `the controller writes addresses of the Service ${RUNNERS_SERVICE} alone`,
      },
      {
        must: `object.?ports.orValue([]).size() == 1 && object.ports.all(p, p.?port.orValue(0) == ${PORTS.runner})`,
        else: "a name leads to a runner's one port",
      },
      {
        must:
          'object.endpoints.all(e, e.addresses.size() == 1 && ' +
          `e.?hostname.orValue('').matches(${cel(`^[a-z][a-z0-9-]*${UUID}$`)}))`,
        else: 'an entry is the name of a runner, which ends with its id, and one address',
      },
    ],
  },
  {
    // One that leads to a runner may be removed. The names of an ended lease are answered by a controller, and by no pod that a stolen token names.
    name: 'runner-name-stays',
    on: NAME_SLICES,
    params: { kind: 'Pod', namespace: NAMESPACES.system, labels: CONTROLLER_PODS },
    rules: [
      {
        must:
          `request.operation != 'UPDATE' || params.metadata.name != ${SENDER}.join() || ` +
          "object.endpoints.all(e, e.addresses[0] == params.?status.podIP.orValue('') || " +
          "oldObject.endpoints.all(o, o.?hostname.orValue('') != e.?hostname.orValue('') || o.addresses[0] == e.addresses[0]))",
        else: 'a name moves to the pod whose token was sent, and nowhere else',
      },
    ],
  },
  {
    name: 'runner-account-stays',
    on: { operations: ['DELETE'], resources: ['serviceaccounts'] },
    unless: {
      name: 'the-namespace-goes',
      expression: "request.userInfo.username == 'system:serviceaccount:kube-system:namespace-controller'",
    },
    rules: [
      {
        must:
          `request.name != ${cel(SERVICE_ACCOUNTS.runner)} || ` +
          "(has(request.options.propagationPolicy) && request.options.propagationPolicy == 'Orphan')",
        else: 'leased runners are owned by this account and would go with it; delete it with --cascade=orphan',
      },
    ],
  },
];

/** Every policy. */
export const runnerPolicies = (env: Environment): readonly AdmissionPolicy[] => [
  ...newPods(env),
  ...runningPods,
  ...aroundPods,
];
