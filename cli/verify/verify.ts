import * as z from 'zod';
import {
  type Descriptor,
  digestOf,
  MEDIA,
  neededStatements,
  type OciManifest,
  PREDICATES,
  parseManifest,
  RELEASE_PARTS,
  type ReleasePart,
  type ReleaseSource,
  type StatementKind,
} from './contents.ts';
import type { Publisher } from './publisher.ts';
import { NEXT_STEPS, ReleaseFault } from './release-fault.ts';
import { type InTotoStatement, verifyStatement } from './statement.ts';

/** The result for one part of a release. */
export interface Verdict {
  readonly part: ReleasePart;
  readonly digest: string | undefined;
  /** The commit that the provenance names. */
  readonly commit: string | undefined;
  /** Reasons why the part is not what was released; none: it is. */
  readonly faults: readonly string[];
  /** The next steps, one for each kind of fault. */
  readonly steps: readonly string[];
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
  const faults: Fault[] = [];
  try {
    const bytes = await source.manifest(part, version);
    digest = digestOf(bytes);
    faults.push(...(await verifyContent(source, part, parseManifest(bytes, `${part}:${version}`))));
    const { statements, refused } = await readStatements(source, wanted, digest);
    for (const kind of neededStatements(part)) if (!statements.has(kind)) faults.push(withoutStatement(kind, refused));
    const origin = statements.get('provenance');
    if (origin) commit = readCommit(origin, wanted, faults);
  } catch (error) {
    faults.push(faultOf(error));
  }
  const steps = [...new Set(faults.flatMap(fault => fault.steps))].map(step => NEXT_STEPS[step]);
  return { part, digest, commit, faults: faults.map(({ why }) => why), steps };
}

interface Fault {
  readonly why: string;
  readonly steps: readonly ReleaseFault['step'][];
}

const faultOf = (error: unknown): Fault => ({
  why: error instanceof Error ? error.message : String(error),
  steps: error instanceof ReleaseFault ? [error.step] : [],
});

/** Statements that were refused may have been of this kind, or of another. */
const withoutStatement = (kind: StatementKind, refused: readonly Fault[]): Fault =>
  refused.length === 0
    ? { why: `no ${kind} is attached to it`, steps: ['unattested'] }
    : {
        why: `no valid ${kind}: ${refused.map(({ why }) => why).join('; ')}`,
        steps: refused.flatMap(each => each.steps),
      };

/** Faults of the bytes: each blob has the digest under which it is named. */
async function verifyContent(source: ReleaseSource, part: ReleasePart, manifest: OciManifest): Promise<Fault[]> {
  const inside = [manifest.config, ...(manifest.layers ?? []), ...(manifest.manifests ?? [])];
  const faults: Fault[] = [];
  for (const each of inside) {
    if (each === undefined || (RELEASE_PARTS[part] === 'image' && !source.hasLayers)) continue;
    const bytes = await source.blob(part, each);
    if (digestOf(bytes) !== each.digest)
      faults.push({ why: `${each.digest} was changed: its bytes have ${digestOf(bytes)}`, steps: ['changed'] });
    else if (manifest.manifests) faults.push(...(await verifyContent(source, part, parseManifest(bytes, each.digest))));
  }
  return faults;
}

/** Statements about the digest that the publisher signed, and why others were refused. */
async function readStatements(source: ReleaseSource, { part, publisher }: Wanted, digest: string) {
  const statements = new Map<StatementKind, InTotoStatement>();
  const refused: Fault[] = [];
  for (const referrer of await source.referrers(part, digest)) {
    try {
      const found = await readStatement(source, part, referrer, publisher);
      if (found === undefined) continue;
      if (!found.subject.some(({ digest: { sha256 } }) => `sha256:${sha256}` === digest))
        throw new ReleaseFault('it is about something else', 'changed');
      for (const kind of Object.keys(PREDICATES) as StatementKind[])
        if (PREDICATES[kind] === found.predicateType && !statements.has(kind)) statements.set(kind, found);
    } catch (error) {
      const { why, steps } = faultOf(error);
      refused.push({ why: `${referrer.digest.slice(0, 19)}: ${why}`, steps });
    }
  }
  return { statements, refused };
}

async function readStatement(source: ReleaseSource, part: ReleasePart, referrer: Descriptor, publisher: Publisher) {
  const bytes = await source.blob(part, { ...referrer, mediaType: MEDIA.manifest });
  if (digestOf(bytes) !== referrer.digest) throw new ReleaseFault('it was changed', 'changed');
  const layer = parseManifest(bytes, referrer.digest).layers?.find(each => each.mediaType === MEDIA.bundle);
  if (layer === undefined) return undefined; // a referrer of others
  const bundle = await source.blob(part, layer);
  if (digestOf(bundle) !== layer.digest) throw new ReleaseFault('its bundle was changed', 'changed');
  return verifyStatement(bundle, publisher);
}

/** The commit of a provenance; a signed part of another name or version is a fault. */
function readCommit({ predicate }: InTotoStatement, { part, version }: Wanted, faults: Fault[]): string | undefined {
  const { success, data } = provenance.safeParse(predicate);
  if (!success) {
    faults.push({ why: 'its provenance names no part, version and commit', steps: ['format'] });
    return undefined;
  }
  const { externalParameters, resolvedDependencies } = data.buildDefinition;
  if (externalParameters.part !== part || externalParameters.version !== version)
    faults.push({
      why: `it is ${externalParameters.part} ${externalParameters.version}, under the name of ${part} ${version}`,
      steps: ['changed'],
    });
  return resolvedDependencies[0]?.digest.gitCommit;
}
