import type { V1Pod, V1PodSpec } from '@kubernetes/client-node';
import { LABELS } from '../../contract/names.ts';

/** A runner's pod with one thing changed, and the policy that must refuse it. */
export interface HostilePod {
  readonly what: string;
  readonly policy: string;
  /** Part of the policy's message. */
  readonly message: string;
  readonly change: (pod: V1Pod) => V1Pod;
}

const changed =
  (
    edit: (
      spec: V1PodSpec,
      browser: V1PodSpec['containers'][number],
      uploader: V1PodSpec['containers'][number],
    ) => void,
  ) =>
  (pod: V1Pod): V1Pod => {
    const [browser, uploader] = [pod.spec?.containers[0], pod.spec?.initContainers?.[0]];
    if (!pod.spec || !browser || !uploader) throw new Error('not a runner pod');
    edit(pod.spec, browser, uploader);
    return pod;
  };

/** A pod under a name of its own with that label changed, or without it. */
const labelled =
  (label: string, value?: string) =>
  (pod: V1Pod): V1Pod => {
    const { [label]: _, ...labels } = pod.metadata?.labels ?? {};
    return {
      ...pod,
      metadata: { ...pod.metadata, labels: value === undefined ? labels : { ...labels, [label]: value } },
    };
  };

export const HOSTILE_PODS: readonly HostilePod[] = [
  {
    what: 'that answers under the name of another runner',
    policy: 'runner-pod-label',
    message: 'ends with its id',
    change: labelled(LABELS.runnerId, '1f0e8f64-3d6e-4f4e-9a55-6f3a4fd1c0aa'),
  },
  {
    what: 'of no runner',
    policy: 'runner-pod-label',
    message: 'ends with its id',
    change: labelled(LABELS.runnerId),
  },
  {
    what: 'of another image',
    policy: 'runner-pod-image',
    message: 'and no other',
    change: changed((_, browser) => {
      browser.image = 'docker.io/library/busybox:1';
    }),
  },
  {
    what: 'whose sidecar is another image',
    policy: 'runner-pod-image',
    message: 'and no other',
    change: changed((_, __, uploader) => {
      uploader.image = 'docker.io/library/busybox:1';
    }),
  },
  {
    what: 'with a second container',
    policy: 'runner-pod-shape',
    message: 'one container, "browser"',
    change: changed((spec, browser) => {
      spec.containers.push({ ...structuredClone(browser), name: 'second', ports: [] });
    }),
  },
  {
    what: 'without its uploader',
    policy: 'runner-pod-shape',
    message: 'one native sidecar',
    change: changed(spec => {
      spec.initContainers = [];
    }),
  },
  {
    what: 'with another command',
    policy: 'runner-pod-shape',
    message: "image's own programs",
    change: changed((_, browser) => {
      browser.command = ['sh', '-c', 'id'];
    }),
  },
  {
    what: 'whose uploader has another command',
    policy: 'runner-pod-shape',
    message: "image's own programs",
    change: changed((_, __, uploader) => {
      uploader.command = ['node', '-e', '0'];
    }),
  },
  {
    what: 'with a hook',
    policy: 'runner-pod-shape',
    message: 'no hooks',
    change: changed((_, browser) => {
      browser.lifecycle = { postStart: { exec: { command: ['id'] } } };
    }),
  },
  {
    what: "whose probe is a command beside the uploader's token",
    policy: 'runner-pod-shape',
    message: 'no probes with a command',
    change: changed((_, __, uploader) => {
      uploader.startupProbe = { exec: { command: ['sh', '-c', 'id'] } };
    }),
  },
  {
    what: 'whose programs are looked for in a folder that the browser writes',
    policy: 'runner-pod-shape',
    message: "image's own programs",
    change: changed((_, __, uploader) => {
      uploader.workingDir = '/output';
    }),
  },
  {
    what: 'that restarts',
    policy: 'runner-pod-shape',
    message: 'never restarted',
    change: changed(spec => {
      spec.restartPolicy = 'Always';
    }),
  },
  {
    what: "with Chromium's sandbox off",
    policy: 'runner-pod-environment',
    message: "the browser's environment is the template's",
    change: changed((_, browser) => {
      browser.env?.push({ name: 'OMICRON_CHROMIUM_SANDBOX', value: 'off' });
    }),
  },
  {
    what: 'that tells Node to load something else',
    policy: 'runner-pod-environment',
    message: "the uploader's environment is the template's",
    change: changed((_, __, uploader) => {
      uploader.env?.push({ name: 'NODE_OPTIONS', value: '--import=/output/x.mjs' });
    }),
  },
  {
    what: 'that reads a Secret into its environment',
    policy: 'runner-pod-environment',
    message: 'nothing secret',
    change: changed((_, browser) => {
      browser.env = [
        ...(browser.env ?? []).filter(({ name }) => name !== 'HOME'),
        { name: 'HOME', valueFrom: { secretKeyRef: { name: 'a', key: 'b' } } },
      ];
    }),
  },
  {
    what: 'with a folder of its node',
    policy: 'runner-pod-volumes',
    message: 'emptyDir volumes with a sizeLimit',
    change: changed(spec => {
      spec.volumes?.push({ name: 'host', hostPath: { path: '/' } });
    }),
  },
  {
    what: 'with a Secret as a volume',
    policy: 'runner-pod-volumes',
    message: 'emptyDir volumes with a sizeLimit',
    change: changed(spec => {
      spec.volumes?.push({ name: 'loot', secret: { secretName: 'a' } });
    }),
  },
  {
    what: 'with a volume without a size',
    policy: 'runner-pod-volumes',
    message: 'emptyDir volumes with a sizeLimit',
    change: changed(spec => {
      spec.volumes?.push({ name: 'endless', emptyDir: {} });
    }),
  },
  {
    what: 'with a token for the API server',
    policy: 'runner-pod-volumes',
    message: 'emptyDir volumes with a sizeLimit',
    change: changed(spec => {
      spec.volumes?.push({ name: 'api', projected: { sources: [{ serviceAccountToken: { path: 'token' } }] } });
    }),
  },
  {
    what: "whose browser sees the uploader's token",
    policy: 'runner-pod-volumes',
    message: 'not for the browser',
    change: changed((_, browser) => {
      browser.volumeMounts?.push({ name: 'aws-iam-token', mountPath: '/token', readOnly: true });
    }),
  },
  {
    what: "with a volume over the image's programs",
    policy: 'runner-pod-volumes',
    message: 'mounted where the template mounts them',
    change: changed((_, __, uploader) => {
      uploader.volumeMounts?.push({ name: 'output', mountPath: '/app' });
    }),
  },
  {
    what: "whose browser sees the uploader's processes",
    policy: 'runner-pod-host',
    message: 'do not see each other',
    change: changed(spec => {
      spec.shareProcessNamespace = true;
    }),
  },
  {
    what: 'that may be placed on a node of another group',
    policy: 'runner-pod-host',
    message: 'on a browser node',
    change: changed(spec => {
      spec.nodeSelector = {};
      spec.tolerations = [{ operator: 'Exists' }];
    }),
  },
  {
    what: 'of the host network',
    policy: 'runner-pod-host',
    message: 'neither network, processes nor memory',
    change: changed(spec => {
      spec.hostNetwork = true;
    }),
  },
  {
    what: "among its node's processes",
    policy: 'runner-pod-host',
    message: 'neither network, processes nor memory',
    change: changed(spec => {
      spec.hostPID = true;
    }),
  },
  {
    what: 'with a port of its node',
    policy: 'runner-pod-host',
    message: 'no port of its node',
    change: changed((_, browser) => {
      browser.ports = [{ containerPort: 8080, hostPort: 8080 }];
    }),
  },
  {
    what: 'for which the egress proxy is elsewhere',
    policy: 'runner-pod-host',
    message: 'knows two names',
    change: changed(spec => {
      spec.hostAliases = [{ ip: '203.0.113.9', hostnames: ['egress-proxy'] }];
    }),
  },
  {
    what: 'that chooses its node',
    policy: 'runner-pod-host',
    message: 'the scheduler places a runner',
    change: changed(spec => {
      spec.nodeName = 'node-1';
    }),
  },
  {
    what: 'that may be root',
    policy: 'runner-pod-security',
    message: 'non-root',
    change: changed((_, browser) => {
      browser.securityContext = { ...browser.securityContext, runAsNonRoot: false };
    }),
  },
  {
    what: 'privileged',
    policy: 'runner-pod-security',
    message: 'no way to more privileges',
    change: changed((_, browser) => {
      browser.securityContext = { ...browser.securityContext, privileged: true, allowPrivilegeEscalation: true };
    }),
  },
  {
    what: 'with a writable root',
    policy: 'runner-pod-security',
    message: 'read-only root',
    change: changed((_, browser) => {
      browser.securityContext = { ...browser.securityContext, readOnlyRootFilesystem: false };
    }),
  },
  {
    what: 'with a capability',
    policy: 'runner-pod-security',
    message: 'drops ALL capabilities',
    change: changed((_, browser) => {
      browser.securityContext = { ...browser.securityContext, capabilities: { drop: ['ALL'], add: ['SYS_ADMIN'] } };
    }),
  },
  {
    what: 'with every system call',
    policy: 'runner-pod-security',
    message: 'seccomp profile',
    change: changed((_, browser) => {
      browser.securityContext = { ...browser.securityContext, seccompProfile: { type: 'Unconfined' } };
    }),
  },
  {
    what: "whose uploader has the browser's system calls",
    policy: 'runner-pod-security',
    message: "runtime's seccomp profile",
    change: changed((_, browser, uploader) => {
      uploader.securityContext = {
        ...uploader.securityContext,
        seccompProfile: browser.securityContext?.seccompProfile,
      };
    }),
  },
  {
    what: 'of another account',
    policy: 'runner-pod-identity',
    message: 'runs as pw-mcp-runner-sa',
    change: changed(spec => {
      spec.serviceAccountName = 'default';
      spec.serviceAccount = 'default';
    }),
  },
];
