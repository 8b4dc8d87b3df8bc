import { readFileSync } from 'node:fs';
import { type Architecture, SECCOMP_PROFILE } from '../contract/names.ts';
import { kubeletReservedMiB } from '../contract/node-capacity.ts';

/** Folder in which the kubelet looks for `localhostProfile`: https://kubernetes.io/docs/tutorials/security/seccomp/ */
const SECCOMP_DIR = '/var/lib/kubelet/seccomp';

// Bytes before base64: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/user-data.html
const BYTES_MAX = 16_384;

/** The kernel's own ceiling on AL2023 depends on memory; this one is enough for 120 browsers of some 50 renderers each. */
const USER_NAMESPACES = 30_000;

export interface NodeBoot {
  /** Processes and threads of one pod. */
  readonly podPidsMax: number;
  /** Pods of the node, by which its kubelet reserves memory; EKS's choice for the instance type where it is left out. */
  readonly podsMax?: number | undefined;
  /** Install Chromium's seccomp profile for this architecture and keep user namespaces enabled: its sandbox needs both. Null: neither. */
  readonly chromium: Architecture | null;
}

/**
 * User data of an AL2023 node, in parts: kubelet settings for nodeadm, which merges them with those that EKS appends,
 * and on browser nodes a script. cloud-init ends before nodeadm starts the kubelet (`nodeadm-run.service` is ordered
 * after `cloud-final.service`), so the profile exists before any pod needs it.
 * https://awslabs.github.io/amazon-eks-ami/nodeadm/doc/examples/
 */
export function userData(boot: NodeBoot): string {
  const parts = [mimePart('application/node.eks.aws', nodeConfig(boot))];
  if (boot.chromium !== null)
    parts.push(mimePart('text/x-shellscript; charset="us-ascii"', chromiumScript(seccompProfile(boot.chromium))));
  const text = [
    'MIME-Version: 1.0',
    `Content-Type: multipart/mixed; boundary="${BOUNDARY}"`,
    '',
    ...parts,
    `--${BOUNDARY}--`,
    '',
  ];
  const bytes = Buffer.from(text.join('\n'));
  if (bytes.length > BYTES_MAX) throw new Error(`user data of ${bytes.length} bytes: EC2 takes ${BYTES_MAX}`);
  return bytes.toString('base64');
}

/** The system calls that a process of a node may use: on x86-64 those of 32-bit programs too. */
const SECCOMP_ARCHITECTURES = {
  amd64: ['SCMP_ARCH_X86_64', 'SCMP_ARCH_X86', 'SCMP_ARCH_X32'],
  arm64: ['SCMP_ARCH_AARCH64'],
} as const satisfies Record<Architecture, readonly string[]>;

/**
 * The profile as one line: containerd's default and what Chromium's sandbox needs (clone, unshare, setns, chroot). It names the calls of
 * both architectures; a container runtime leaves out those that the node's does not have.
 */
export function seccompProfile(architecture: Architecture): string {
  const profile = JSON.parse(readFileSync(new URL(`./${SECCOMP_PROFILE}`, import.meta.url), 'utf8'));
  return JSON.stringify({ ...profile, architectures: SECCOMP_ARCHITECTURES[architecture] });
}

const BOUNDARY = 'omicron-browser';

const mimePart = (type: string, body: string): string => `--${BOUNDARY}\nContent-Type: ${type}\n\n${body}\n`;

/** nodeadm reads YAML, and JSON is YAML. */
const nodeConfig = (boot: NodeBoot): string =>
  JSON.stringify(
    {
      apiVersion: 'node.eks.aws/v1alpha1',
      kind: 'NodeConfig',
      spec: {
        kubelet: {
          config: {
            podPidsLimit: boot.podPidsMax,
            ...podsOf(boot),
            seccompDefault: true,
            // Runners get time to finish their uploads when the instance stops; EC2 announces a spot interruption 120
            // s ahead.
            shutdownGracePeriod: '100s',
            shutdownGracePeriodCriticalPods: '10s',
          },
        },
      },
    },
    null,
    2,
  );

/** Merged by key with the reserves of cores and disk that nodeadm computes. */
const podsOf = ({ podsMax }: NodeBoot) =>
  podsMax === undefined ? {} : { maxPods: podsMax, kubeReserved: { memory: `${kubeletReservedMiB(podsMax)}Mi` } };

const chromiumScript = (profile: string): string => `#!/bin/bash
set -euo pipefail
install -d -m 0755 ${SECCOMP_DIR}
cat > ${SECCOMP_DIR}/${SECCOMP_PROFILE} <<'PROFILE'
${profile}
PROFILE
chmod 0644 ${SECCOMP_DIR}/${SECCOMP_PROFILE}
echo 'user.max_user_namespaces = ${USER_NAMESPACES}' > /etc/sysctl.d/90-chromium.conf
sysctl -p /etc/sysctl.d/90-chromium.conf`;
