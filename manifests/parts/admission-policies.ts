import { ENDPOINT_MANAGER, NAMESPACES, PORTS, SERVICE_ACCOUNTS } from '../../contract/names.ts';
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
import { runnerAccount } from './runner-endpoints.ts';

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
        must: `request.operation != 'CREATE' || request.userInfo.username == ${cel(CONTROLLER)}`,
        else: 'only the session controller creates Services here',
      },
      {
        must: "object.spec.?type.orValue('ClusterIP') == 'ClusterIP' && object.spec.?externalIPs.orValue([]).size() == 0",
        else: 'an MCP endpoint is reached from inside the cluster alone (ClusterIP, no external address)',
      },
      {
        must: "request.operation != 'UPDATE' || object.spec.?selector.orValue({}) == oldObject.spec.?selector.orValue({})",
        else: 'the name of a runner leads to no other runner',
      },
    ],
  },
  {
    name: 'runner-endpoint-of-tombstone',
    on: { group: 'discovery.k8s.io', operations: ['CREATE', 'UPDATE'], resources: ['endpointslices'] },
    unless: { name: 'not-the-controller', expression: `request.userInfo.username != ${cel(CONTROLLER)}` },
    rules: [
      {
        must:
          `object.metadata.?labels['endpointslice.kubernetes.io/managed-by'].orValue('') == ${cel(ENDPOINT_MANAGER)} && ` +
          `object.endpoints.size() == 1 && object.endpoints[0].addresses.size() == 1 && ` +
          `object.?ports.orValue([]).all(p, p.?port.orValue(0) == ${PORTS.controller})`,
        else: "the controller adds one address to the name of an ended lease, at the controller's port",
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
