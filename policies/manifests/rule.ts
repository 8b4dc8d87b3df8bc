/** A rendered Kubernetes object of any kind. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly [field: string]: unknown;
}

/** The fault of an object. */
export interface ManifestFinding {
  readonly manifest: Manifest;
  readonly message: string;
}

/**
 * Checks everything that is synced together. Names are kube-linter's where it has the rule:
 * https://docs.kubelinter.io/#/generated/checks
 */
export interface ManifestRule {
  readonly name: string;
  /** The damage when the rule is broken. */
  readonly reason: string;
  /** Environments in which it does not apply. */
  readonly exceptIn?: readonly string[];
  check(manifests: readonly Manifest[]): readonly ManifestFinding[];
}

/** kube-linter's waiver: an annotation of the object whose value is the reason. */
export const WAIVER = 'ignore-check.kube-linter.io/';

export const isWaived = (rule: string, { metadata }: Manifest): boolean =>
  Boolean(metadata.annotations?.[`${WAIVER}${rule}`]);

/** Reads a nested field without knowing its shape. */
export function readField(value: unknown, ...path: readonly (string | number)[]): unknown {
  let node = value;
  for (const step of path) {
    if (typeof node !== 'object' || node === null) return undefined;
    node = (node as Readonly<Record<string | number, unknown>>)[step]; // an object or a list, as just seen
  }
  return node;
}

export const arrayOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

export type Labels = Readonly<Record<string, string>>;
export const labels = (value: unknown): Labels => (value ?? {}) as Labels; // labels are strings in every API

export const matchesLabels = (selector: unknown, of: Labels): boolean =>
  Object.entries(labels(selector)).every(([key, value]) => of[key] === value);

/** A pod that an object would create. */
export interface PodManifest {
  readonly manifest: Manifest;
  readonly labels: Labels;
  readonly spec: unknown;
}

/** The pods that these objects would create. */
export const podsOf = (manifests: readonly Manifest[]): readonly PodManifest[] =>
  manifests.flatMap(manifest => {
    const template = manifest.kind === 'PodTemplate' ? manifest.template : readField(manifest, 'spec', 'template');
    return readField(template, 'spec')
      ? [{ manifest, labels: labels(readField(template, 'metadata', 'labels')), spec: readField(template, 'spec') }]
      : [];
  });

/** Every container of a pod, sidecars too. */
export const containersOf = ({ spec }: PodManifest): readonly unknown[] => [
  ...arrayOf(readField(spec, 'initContainers')),
  ...arrayOf(readField(spec, 'containers')),
];

/** A rule over each container: `holds` says whether it keeps the rule. */
export const containerRule = (
  name: string,
  reason: string,
  holds: (container: unknown, pod: PodManifest) => boolean,
  more: Partial<ManifestRule> = {},
): ManifestRule => ({
  name,
  reason,
  ...more,
  check: manifests =>
    podsOf(manifests).flatMap(pod =>
      containersOf(pod)
        .filter(container => !holds(container, pod))
        .map(container => ({ manifest: pod.manifest, message: `container ${String(readField(container, 'name'))}` })),
    ),
});

/** A rule over each pod. */
export const podRule = (name: string, reason: string, holds: (pod: PodManifest) => boolean): ManifestRule => ({
  name,
  reason,
  check: manifests =>
    podsOf(manifests)
      .filter(pod => !holds(pod))
      .map(({ manifest }) => ({ manifest, message: 'its pods' })),
});

/** A rule over each object of one kind, which also sees all others. */
export const kindRule = (
  kind: string,
  name: string,
  reason: string,
  holds: (manifest: Manifest, all: readonly Manifest[]) => boolean,
): ManifestRule => ({
  name,
  reason,
  check: manifests =>
    manifests
      .filter(manifest => manifest.kind === kind && !holds(manifest, manifests))
      .map(manifest => ({ manifest, message: `${kind} ${manifest.metadata.name}` })),
});
