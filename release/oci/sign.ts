import { bundleToJSON } from '@sigstore/bundle';
import type { DSSEBundleBuilder } from '@sigstore/sign';
import {
  type Descriptor,
  MEDIA,
  neededStatements,
  PREDICATES,
  RELEASE_PARTS,
  type ReleasePart,
  type StatementKind,
} from '../../cli/verify/contents.ts';
import { REF_NAME } from '../../cli/verify/folder.ts';
import { REPOSITORY } from '../catalogue.ts';
import type { Layout } from './layout.ts';

/** Signs a statement into a sigstore bundle. */
export type StatementSigner = (statement: {
  readonly type: string;
  readonly data: Buffer;
}) => ReturnType<DSSEBundleBuilder['create']>;

export interface SigningOptions {
  readonly version: string;
  /** Signs by a key (signing-key.ts) or an identity (keyless.ts). */
  readonly signer: StatementSigner;
  /** The commit that everything was built from. */
  readonly commit: string;
  /** Address of the job that built it, or of the repository where a person did. */
  readonly builder: string;
  /** CycloneDX documents of the parts that need one. */
  readonly sboms: Partial<Readonly<Record<ReleasePart, unknown>>>;
}

/** Signs every part of the release that is in the layout, and attests how it was built and what is in it. Returns what it signed. */
export async function signRelease(layout: Layout, options: SigningOptions): Promise<readonly ReleasePart[]> {
  const entries = await layout.entries();
  const parts = (Object.keys(RELEASE_PARTS) as ReleasePart[]).flatMap(part => {
    const entry = entries.find(({ annotations }) => annotations?.[REF_NAME] === `${part}:${options.version}`);
    return entry ? [{ part, entry }] : [];
  });
  for (const { part } of parts)
    if (neededStatements(part).includes('sbom') && options.sboms[part] === undefined)
      throw new Error(`${part} has no SBOM: name its file by --sbom ${part}=FILE`);
  for (const { part, entry } of parts)
    for (const kind of neededStatements(part))
      await attach(layout, entry, PREDICATES[kind], predicateOf(kind, part, options), options.signer);
  return parts.map(({ part }) => part);
}

function predicateOf(kind: StatementKind, part: ReleasePart, { version, commit, builder, sboms }: SigningOptions) {
  if (kind === 'signature') return {};
  if (kind === 'sbom') return sboms[part];
  return {
    buildDefinition: {
      buildType: `${REPOSITORY}/tree/main/release`,
      externalParameters: { part, version },
      internalParameters: {},
      resolvedDependencies: [{ uri: `git+${REPOSITORY}`, digest: { gitCommit: commit } }],
    },
    runDetails: { builder: { id: builder } },
  };
}

/** Adds a statement about a manifest, in the form in which cosign reads it: a sigstore bundle as a referrer. */
async function attach(
  layout: Layout,
  { mediaType, digest, size }: Descriptor,
  predicateType: string,
  predicate: unknown,
  signer: StatementSigner,
): Promise<void> {
  const statement = {
    _type: 'https://in-toto.io/Statement/v1',
    subject: [{ digest: { sha256: digest.replace('sha256:', '') } }],
    predicateType,
    predicate,
  };
  const bundle = await signer({ type: MEDIA.statement, data: Buffer.from(JSON.stringify(statement)) });
  // The key is named beside the envelope. In it cosign takes no name but its own: https://github.com/secure-systems-lab/go-securesystemslib (dsse)
  for (const signature of bundle.content.dsseEnvelope.signatures) signature.keyid = '';
  await layout.add({
    artifactType: MEDIA.bundle,
    layers: [{ mediaType: MEDIA.bundle, bytes: Buffer.from(JSON.stringify(bundleToJSON(bundle))) }],
    subject: { mediaType, digest, size },
    annotations: {
      'dev.sigstore.bundle.content': 'dsse-envelope',
      'dev.sigstore.bundle.predicateType': predicateType,
    },
  });
}
