import { createHash } from 'node:crypto';
import { ReleaseFault } from './release-fault.ts';

/** The name of bytes in OCI: `sha256:` and 64 hexadecimal digits. */
export const digestOf = (bytes: Buffer): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

/** The parts of a release: each is `<registry>/<name>:<version>`, with its signature and attestations as referrers. */
export const RELEASE_PARTS = {
  controller: 'image',
  runner: 'image',
  egress: 'image',
  console: 'image',
  'omicron-browser': 'chart',
  manifests: 'manifests',
  packages: 'packages',
} as const;

export type ReleasePart = keyof typeof RELEASE_PARTS;

export const MEDIA = {
  manifest: 'application/vnd.oci.image.manifest.v1+json',
  index: 'application/vnd.oci.image.index.v1+json',
  empty: 'application/vnd.oci.empty.v1+json',
  /** <https://github.com/sigstore/cosign/blob/main/specs/BUNDLE_SPEC.md> */
  bundle: 'application/vnd.dev.sigstore.bundle.v0.3+json',
  statement: 'application/vnd.in-toto+json',
} as const;

/** Statements about a part, by the type of their predicate. */
export const PREDICATES = {
  signature: 'https://sigstore.dev/cosign/sign/v1',
  provenance: 'https://slsa.dev/provenance/v1',
  sbom: 'https://cyclonedx.org/bom',
} as const;

export type StatementKind = keyof typeof PREDICATES;

/** A chart and manifests hold no code of others. */
export const neededStatements = (part: ReleasePart): readonly StatementKind[] =>
  ['image', 'packages'].includes(RELEASE_PARTS[part])
    ? ['signature', 'provenance', 'sbom']
    : ['signature', 'provenance'];

/** An OCI descriptor: <https://github.com/opencontainers/image-spec/blob/main/descriptor.md>. */
export interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
  readonly artifactType?: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface OciManifest {
  readonly mediaType?: string;
  readonly artifactType?: string;
  readonly config?: Descriptor;
  readonly layers?: readonly Descriptor[];
  /** Manifests of an index. */
  readonly manifests?: readonly Descriptor[];
  readonly subject?: Descriptor;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** A manifest as it was stored. Throws a fault where the bytes are none. */
export function parseManifest(bytes: Buffer, name: string): OciManifest {
  try {
    const parsed: unknown = JSON.parse(bytes.toString());
    if (typeof parsed === 'object' && parsed !== null) return parsed;
  } catch {
    // said below
  }
  throw new ReleaseFault(`${name} is no manifest: it is not an object in JSON`, 'changed');
}

/** The place that a release is read from: a folder or a registry. */
export interface ReleaseSource {
  /** Bytes of the manifest of a part. Throws where there is none. */
  manifest(part: ReleasePart, version: string): Promise<Buffer>;
  /** Bytes of a manifest or blob of the part, as they are: the caller checks the digest. */
  blob(part: ReleasePart, descriptor: Descriptor): Promise<Buffer>;
  /** Descriptors of manifests that say that they are about this one. */
  referrers(part: ReleasePart, digest: string): Promise<readonly Descriptor[]>;
  /** Whether layers of images are looked at: whatever pulls an image from a registry checks them by their digests. */
  readonly hasLayers: boolean;
}
