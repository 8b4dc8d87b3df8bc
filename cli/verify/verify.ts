import * as z from 'zod';
import {
  type Descriptor,
  digestOf,
  MEDIA,
  neededStatements,
  type OciManifest,
  PREDICATES,
  RELEASE_PARTS,
  type ReleasePart,
  type ReleaseSource,
  type StatementKind,
} from './contents.ts';
import type { Publisher } from './publisher.ts';
import { type InTotoStatement, verifyStatement } from './statement.ts';

/** The result for one part of a release. */
export interface Verdict {
  readonly part: ReleasePart;
  readonly digest: string | undefined;
  /** The commit that the provenance names. */
  readonly commit: string | undefined;
  /** Reasons why the part is not what was released; none: it is. */
  readonly faults: readonly string[];
}

/** The part of a provenance that is read: <https://slsa.dev/spec/v1.1/provenance>. */
const provenance = z.object({
  buildDefinition: z.object({
    externalParameters: z.object({ part: z.string(), version: z.string() }),
    resolvedDependencies: z.array(z.object({ digest: z.object({ gitCommit: z.string() }) })).min(1),
  }),
});

/** Verifies each part of a release: its bytes, its signature, its provenance and, where code of others is in it, its SBOM. */
export async function verifyRelease(
  source: ReleaseSource,
  { version, publisher, parts }: { version: string; publisher: Publisher; parts: readonly ReleasePart[] },
): Promise<readonly Verdict[]> {
  const verdicts: Verdict[] = [];
  for (const part of parts) verdicts.push(await verifyPart(source, { part, version, publisher }));
  return verdicts;
}

interface Wanted {
  readonly part: ReleasePart;
  readonly version: string;
  readonly publisher: Publisher;
}

async function verifyPart(source: ReleaseSource, wanted: Wanted): Promise<Verdict> {
  const { part, version } = wanted;
  let digest: string | undefined;
  let commit: string | undefined;
  const faults: string[] = [];
  try {
    const bytes = await source.manifest(part, version);
    digest = digestOf(bytes);
    faults.push(...(await verifyContent(source, part, JSON.parse(bytes.toString()) as OciManifest)));
    const { statements, refused } = await readStatements(source, wanted, digest);
    for (const kind of neededStatements(part))
      if (!statements.has(kind)) faults.push(`no valid ${kind}${refused.length > 0 ? `: ${refused.join('; ')}` : ''}`);
    const origin = statements.get('provenance');
    if (origin) commit = readCommit(origin, wanted, faults);
  } catch (error) {
    faults.push(error instanceof Error ? error.message : String(error));
  }
  return { part, digest, commit, faults };
}

/** Faults of the bytes: each blob has the digest under which it is named. */
async function verifyContent(source: ReleaseSource, part: ReleasePart, manifest: OciManifest): Promise<string[]> {
  const inside = [manifest.config, ...(manifest.layers ?? []), ...(manifest.manifests ?? [])];
  const faults: string[] = [];
  for (const each of inside) {
    if (each === undefined || (RELEASE_PARTS[part] === 'image' && !source.hasLayers)) continue;
    const bytes = await source.blob(part, each);
    if (digestOf(bytes) !== each.digest) faults.push(`${each.digest} was changed: its bytes have ${digestOf(bytes)}`);
    else if (manifest.manifests) faults.push(...(await verifyContent(source, part, JSON.parse(bytes.toString()))));
  }
  return faults;
}

/** Statements about the digest that the publisher signed, and why others were refused. */
async function readStatements(source: ReleaseSource, { part, publisher }: Wanted, digest: string) {
  const statements = new Map<StatementKind, InTotoStatement>();
  const refused: string[] = [];
  for (const referrer of await source.referrers(part, digest)) {
    try {
      const found = await readStatement(source, part, referrer, publisher);
      if (found === undefined) continue;
      if (!found.subject.some(({ digest: { sha256 } }) => `sha256:${sha256}` === digest))
        throw new Error('it is about something else');
      for (const kind of Object.keys(PREDICATES) as StatementKind[])
        if (PREDICATES[kind] === found.predicateType && !statements.has(kind)) statements.set(kind, found);
    } catch (error) {
      refused.push(`${referrer.digest.slice(0, 19)}: ${error instanceof Error ? error.message : error}`);
    }
  }
  return { statements, refused };
}

async function readStatement(source: ReleaseSource, part: ReleasePart, referrer: Descriptor, publisher: Publisher) {
  const bytes = await source.blob(part, { ...referrer, mediaType: MEDIA.manifest });
  if (digestOf(bytes) !== referrer.digest) throw new Error('it was changed');
  const layer = (JSON.parse(bytes.toString()) as OciManifest).layers?.find(each => each.mediaType === MEDIA.bundle);
  if (layer === undefined) return undefined; // a referrer of others
  const bundle = await source.blob(part, layer);
  if (digestOf(bundle) !== layer.digest) throw new Error('its bundle was changed');
  return verifyStatement(bundle, publisher);
}

/** The commit of a provenance; a signed part of another name or version is a fault. */
function readCommit({ predicate }: InTotoStatement, { part, version }: Wanted, faults: string[]): string | undefined {
  const { success, data } = provenance.safeParse(predicate);
  if (!success) {
    faults.push('its provenance names no part, version and commit');
    return undefined;
  }
  const { externalParameters, resolvedDependencies } = data.buildDefinition;
  if (externalParameters.part !== part || externalParameters.version !== version)
    faults.push(`it is ${externalParameters.part} ${externalParameters.version}, under the name of ${part} ${version}`);
  return resolvedDependencies[0]?.digest.gitCommit;
}
