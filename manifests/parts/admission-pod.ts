import { BROWSER_NODES, ENV, SECCOMP_PROFILE } from '../../contract/names.ts';
import type { Environment } from '../environment-type.ts';
import { PUBLIC_KEYS } from '../secrets.ts';
import { IRSA } from './configuration.ts';
import { PRIORITIES } from './limits.ts';
import { BROWSER, browser, UPLOADER, uploader } from './runner-containers.ts';
import { hostAliases } from './runner-endpoints.ts';

/** A policy over the runners' namespace. Expressions are CEL; a request is refused where a `must` is false. */
export interface AdmissionPolicy {
  readonly name: string;
  /** The core's API group unless given. */
  readonly on: {
    readonly group?: string;
    readonly operations: readonly string[];
    readonly resources: readonly string[];
  };
  readonly unless?: { readonly name: string; readonly expression: string };
  /** Objects of which each one is `params` in turn: the rules must hold for all of them, and one at least must be there. */
  readonly params?: {
    readonly kind: 'Pod';
    readonly namespace: string;
    readonly labels: Readonly<Record<string, string>>;
  };
  readonly variables?: Readonly<Record<string, string>>;
  readonly rules: readonly { readonly must: string; readonly else: string }[];
}

export const CREATE_PODS = { operations: ['CREATE'], resources: ['pods'] } as const;
// JSON of strings and lists of strings is CEL.
export const cel = (value: string | readonly string[]): string => JSON.stringify(value);

export const ALL = {
  inits: 'object.spec.?initContainers.orValue([])',
  all: 'object.spec.containers + variables.inits',
} as const;
const named = (list: string, name: string): string => `${list}.filter(c, c.name == ${cel(name)})`;

/** EKS's webhook adds these to the uploader. */
const IRSA_ENV = [
  ENV.awsRoleArn,
  ENV.awsWebIdentityTokenFile,
  'AWS_STS_REGIONAL_ENDPOINTS',
  'AWS_DEFAULT_REGION',
  ENV.awsRegion,
];

const mountPaths = (container: { volumeMounts?: readonly { mountPath: string }[] | undefined }): string[] =>
  (container.volumeMounts ?? []).map(({ mountPath }) => mountPath);
const envNames = (container: { env?: readonly { name: string }[] | undefined }): string[] =>
  (container.env ?? []).map(({ name }) => name);

export function shapePolicy(env: Environment): AdmissionPolicy {
  const { command = [] } = uploader(env);
  return {
    name: 'runner-pod-shape',
    on: CREATE_PODS,
    variables: ALL,
    rules: [
      {
        must: `object.spec.containers.size() == 1 && object.spec.containers[0].name == ${cel(BROWSER)}`,
        else: `a runner has one container, "${BROWSER}"`,
      },
      {
        must: `variables.inits.size() == 1 && variables.inits.all(c, c.name == ${cel(UPLOADER)} && c.?restartPolicy.orValue('') == 'Always')`,
        else: `a runner has one native sidecar, "${UPLOADER}"`,
      },
      {
        must:
          'object.spec.containers.all(c, !has(c.command) && !has(c.args)) && ' +
          `variables.inits.all(c, c.?command.orValue([]) == ${cel(command)} && !has(c.args)) && ` +
          'variables.all.all(c, !has(c.lifecycle) && !has(c.workingDir) && ' +
          '[?c.?startupProbe, ?c.?readinessProbe, ?c.?livenessProbe].all(p, !has(p.exec)))',
        else: "containers run the image's own programs: the template's command, no arguments, no hooks, no probes with a command",
      },
      {
        must: "object.spec.?restartPolicy.orValue('') == 'Never'",
        else: 'a runner is removed, never restarted (restartPolicy: Never)',
      },
    ],
  };
}

/**
 * A variable can turn the browser's sandbox off or change what Node runs: only listed names, and no Secrets, are
 * allowed.
 */
export function environmentPolicy(env: Environment): AdmissionPolicy {
  const [forBrowser, forUploader] = [envNames(browser(env)), [...new Set([...envNames(uploader(env)), ...IRSA_ENV])]];
  return {
    name: 'runner-pod-environment',
    on: CREATE_PODS,
    variables: ALL,
    rules: [
      {
        must: `${named('variables.all', BROWSER)}.all(c, c.?env.orValue([]).all(e, e.name in ${cel(forBrowser)}))`,
        else: `the browser's environment is the template's: ${forBrowser.join(', ')}`,
      },
      {
        must: `${named('variables.all', UPLOADER)}.all(c, c.?env.orValue([]).all(e, e.name in ${cel(forUploader)}))`,
        else: "the uploader's environment is the template's, and what the IRSA webhook adds",
      },
      {
        must:
          'variables.all.all(c, !has(c.envFrom) && c.?env.orValue([]).all(e, !has(e.valueFrom) || (' +
          '!has(e.valueFrom.secretKeyRef) && !has(e.valueFrom.resourceFieldRef) && ' +
          `(!has(e.valueFrom.configMapKeyRef) || e.valueFrom.configMapKeyRef.name == ${cel(PUBLIC_KEYS.name)}))))`,
        else: 'nothing secret stands in the environment of a runner',
      },
    ],
  };
}

export function volumesPolicy(env: Environment): AdmissionPolicy {
  const paths = [...new Set([...mountPaths(browser(env)), ...mountPaths(uploader(env)), IRSA.path])];
  return {
    name: 'runner-pod-volumes',
    on: CREATE_PODS,
    variables: ALL,
    rules: [
      {
        // dyn: the type checker does not know the fields that are quantities.
        must:
          'object.spec.?volumes.orValue([]).all(v, (has(v.emptyDir) && has(dyn(v.emptyDir).sizeLimit)) || ' +
          `(v.name == ${cel(IRSA.volume)} && has(v.projected) && v.projected.sources.all(s, ` +
          "has(s.serviceAccountToken) && s.serviceAccountToken.?audience.orValue('') == 'sts.amazonaws.com')))",
        else: 'a runner has emptyDir volumes with a sizeLimit, and the token for its upload role',
      },
      {
        must: `${named('variables.all', BROWSER)}.all(c, c.?volumeMounts.orValue([]).all(m, m.name != ${cel(IRSA.volume)}))`,
        else: 'the token for the upload role is not for the browser',
      },
      {
        must: `variables.all.all(c, c.?volumeMounts.orValue([]).all(m, m.mountPath in ${cel(paths)}))`,
        else: "volumes are mounted where the template mounts them, never over the image's programs",
      },
      { must: 'variables.all.all(c, !has(c.volumeDevices))', else: 'a runner has no block devices' },
    ],
  };
}

export function hostPolicy(env: Environment): AdmissionPolicy {
  const aliases = hostAliases(env);
  return {
    name: 'runner-pod-host',
    on: CREATE_PODS,
    variables: ALL,
    rules: [
      {
        must: '!object.spec.?hostNetwork.orValue(false) && !object.spec.?hostPID.orValue(false) && !object.spec.?hostIPC.orValue(false)',
        else: 'a runner shares neither network, processes nor memory with its node',
      },
      {
        // In one namespace of processes /proc shows each container the other's files: the token for the upload role.
        must: '!object.spec.?shareProcessNamespace.orValue(false)',
        else: 'the browser and the uploader do not see each other',
      },
      {
        must: 'variables.all.all(c, c.?ports.orValue([]).all(p, p.?hostPort.orValue(0) == 0))',
        else: 'a runner opens no port of its node',
      },
      {
        must: `object.spec.?hostAliases.orValue([]).all(a, ${aliases
          .map(({ ip, hostnames }) => `(a.ip == ${cel(ip)} && a.?hostnames.orValue([]) == ${cel(hostnames)})`)
          .join(' || ')})`,
        else: "a runner knows two names, the controller's and the egress proxy's",
      },
      {
        must:
          `!has(object.spec.nodeName) && object.spec.?priorityClassName.orValue('') == ${cel(PRIORITIES.runner)} && ` +
          `object.spec.?nodeSelector[${cel(BROWSER_NODES.key)}].orValue('') == ${cel(BROWSER_NODES.value)}`,
        else: 'the scheduler places a runner, on a browser node, by its own priority',
      },
    ],
  };
}

export const security: AdmissionPolicy = {
  name: 'runner-pod-security',
  on: CREATE_PODS,
  variables: ALL,
  rules: [
    {
      must:
        'variables.all.all(c, has(c.securityContext) && c.securityContext.?runAsNonRoot.orValue(false) && ' +
        'c.securityContext.?readOnlyRootFilesystem.orValue(false) && ' +
        'c.securityContext.?allowPrivilegeEscalation.orValue(true) == false && ' +
        '!c.securityContext.?privileged.orValue(false))',
      else: 'every container is non-root, with a read-only root and no way to more privileges',
    },
    {
      must:
        "variables.all.all(c, 'ALL' in c.?securityContext.capabilities.drop.orValue([]) && " +
        'c.?securityContext.capabilities.add.orValue([]).size() == 0)',
      else: 'every container drops ALL capabilities and adds none',
    },
    {
      must:
        `${named('object.spec.containers', BROWSER)}.all(c, ` +
        "c.?securityContext.seccompProfile.type.orValue('') == 'Localhost' && " +
        `c.?securityContext.seccompProfile.localhostProfile.orValue('') == ${cel(SECCOMP_PROFILE)})`,
      else: `the browser runs under the seccomp profile ${SECCOMP_PROFILE} (Localhost)`,
    },
    {
      must:
        "variables.inits.all(c, !has(c.securityContext.seccompProfile) || c.securityContext.seccompProfile.type == 'RuntimeDefault') && " +
        "object.spec.?securityContext.seccompProfile.type.orValue('') == 'RuntimeDefault'",
      else: "everything but the browser runs under the runtime's seccomp profile",
    },
  ],
};
