import { k8s } from 'cdk8s-plus-28';
import type { Construct } from 'constructs';
import { NAMESPACES } from '../../contract/names.ts';
import type { Resources } from '../../contract/runner-shapes.ts';
import { digestSettings, fromSecret, IRSA } from './configuration.ts';
import {
  containerSecurity,
  emptyDir,
  PULL,
  plainVariables,
  podSecurity,
  resources,
  spreadConstraints,
  webIdentityToken,
} from './container.ts';
import { PRIORITIES } from './limits.ts';
import { meta } from './meta.ts';

/** Time in which proxies and endpoints learn that a pod is stopping; until then it serves. */
export const LINGER_SECONDS = 5;

/** In what the Deployments of the system namespace differ. */
export interface Workload {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly account: string;
  /** Why it gets a token for the API server; without a reason it gets none. */
  readonly apiToken?: string;
  /** Why one replica is enough, where there is one. */
  readonly alone?: string;
  readonly image: string;
  readonly replicas: number;
  readonly settings: Readonly<Record<string, string>>;
  readonly secret: { readonly name: string; readonly keys: readonly string[] };
  /** Keys that the Secret may lack. */
  readonly optionalKeys?: readonly string[];
  readonly ports: readonly k8s.ContainerPort[];
  readonly probes: Pick<k8s.Container, 'startupProbe' | 'readinessProbe' | 'livenessProbe'>;
  readonly resources: Resources;
  /** Writable folders, with their sizes. */
  readonly folders: Readonly<Record<string, string>>;
  /** Whether it gets the token with which it assumes its role, where no webhook of EKS adds it. */
  readonly webIdentity?: boolean;
  /** From SIGTERM to the end of its work. */
  readonly stopSeconds: number;
  /** Fixed address of its Service; any unless given. */
  readonly clusterIp?: string;
  /** The variable that holds the pod's address. */
  readonly ownAddress?: string;
}

/**
 * A Deployment whose containers sleep before they stop; that action needs no shell in the image. It is newer than
 * cdk8s-plus-28, which drops unknown fields, even from JSON patches: hence it is added after serialisation.
 */
class LingeringDeployment extends k8s.KubeDeployment {
  override toJson() {
    const json = super.toJson();
    for (const each of json.spec.template.spec.containers)
      each.lifecycle = { preStop: { sleep: { seconds: LINGER_SECONDS } } };
    return json;
  }
}

/**
 * Deployment, Service, ConfigMap and disruption budget of a workload, with rollouts without downtime.
 */
export function workload(scope: Construct, of: Workload): void {
  const namespace = NAMESPACES.system;
  const selector = { matchLabels: of.labels };
  new k8s.KubeConfigMap(scope, `config-${of.name}`, {
    metadata: meta(of.name, { namespace, wave: 'config', labels: of.labels }),
    data: of.settings,
  });
  new LingeringDeployment(scope, `deployment-${of.name}`, {
    metadata: meta(of.name, {
      namespace,
      wave: 'workloads',
      labels: of.labels,
      waives: {
        ...(of.apiToken ? { 'automount-service-account-token': of.apiToken } : {}),
        ...(of.alone ? { 'minimum-two-replicas': of.alone } : {}),
      },
    }),
    spec: {
      replicas: of.replicas,
      revisionHistoryLimit: 5,
      selector,
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: oneOrNone(0), maxSurge: oneOrNone(1) } },
      template: {
        metadata: {
          labels: { ...of.labels, 'app.kubernetes.io/part-of': 'omicron-browser' },
          annotations: { 'omicron.dev/settings-digest': digestSettings(of.settings) },
        },
        spec: {
          serviceAccountName: of.account,
          automountServiceAccountToken: of.apiToken !== undefined,
          enableServiceLinks: false,
          priorityClassName: PRIORITIES.system,
          terminationGracePeriodSeconds: LINGER_SECONDS + of.stopSeconds + 10,
          topologySpreadConstraints: spreadConstraints(of.labels),
          securityContext: podSecurity,
          containers: [container(of)],
          volumes: [
            ...Object.entries(of.folders).map(([path, size]) => emptyDir(volumeName(path), size)),
            ...(of.webIdentity ? [webIdentityToken(IRSA.volume)] : []),
          ],
        },
      },
    },
  });
  new k8s.KubeService(scope, `service-${of.name}`, {
    metadata: meta(of.name, { namespace, wave: 'config', labels: of.labels }),
    spec: {
      type: 'ClusterIP',
      ...(of.clusterIp ? { clusterIp: of.clusterIp } : {}),
      selector: of.labels,
      ports: of.ports.map(({ name = '', containerPort }) => ({
        name,
        port: containerPort,
        targetPort: k8s.IntOrString.fromString(name),
        protocol: 'TCP',
      })),
    },
  });
  new k8s.KubePodDisruptionBudget(scope, `budget-${of.name}`, {
    metadata: meta(of.name, { namespace, wave: 'after', labels: of.labels }),
    spec: { maxUnavailable: oneOrNone(1), selector, unhealthyPodEvictionPolicy: 'AlwaysAllow' },
  });
}

function container(of: Workload): k8s.Container {
  return {
    name: of.name,
    image: of.image,
    imagePullPolicy: PULL,
    envFrom: [{ configMapRef: { name: of.name } }],
    env: [
      ...fromSecret(of.secret),
      ...fromSecret({ ...of.secret, keys: of.optionalKeys ?? [] }).map(optionalVariable),
      ...(of.ownAddress ? [{ name: of.ownAddress, valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } }] : []),
      ...plainVariables({ HOME: '/tmp' }),
    ],
    ports: [...of.ports],
    ...of.probes,
    resources: resources(of.resources),
    securityContext: containerSecurity,
    volumeMounts: [
      ...Object.keys(of.folders).map(path => ({ name: volumeName(path), mountPath: path })),
      ...(of.webIdentity ? [{ name: IRSA.volume, mountPath: IRSA.path, readOnly: true }] : []),
    ],
  };
}

const oneOrNone = (count: 0 | 1) => k8s.IntOrString.fromNumber(count);

const optionalVariable = (variable: k8s.EnvVar): k8s.EnvVar => ({
  name: variable.name,
  valueFrom: { secretKeyRef: { key: variable.name, ...variable.valueFrom?.secretKeyRef, optional: true } },
});

const volumeName = (path: string): string => path.slice(1).replaceAll('/', '-');
