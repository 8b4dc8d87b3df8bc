import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { OciManifest } from '../../cli/verify/contents.ts';
import { openLayout } from '../../release/oci/layout.ts';
import { newFolder } from '../local/machine.ts';

/** DSSE's, in JSON: both texts are base64. */
interface Envelope {
  payload: string;
  readonly signatures: { sig: string }[];
}

/**
 * A copy of a release in which `change` has had the envelope of every bundle, with its statement, while all digests fit. Answers its folder.
 */
export async function changedBundles(
  folder: string,
  change: (envelope: Envelope, statement: string) => void,
): Promise<string> {
  const copy = join(await newFolder(), 'release');
  await cp(folder, copy, { recursive: true });
  const layout = await openLayout(copy);
  const blob = async (digest: string) => await readFile(join(copy, 'blobs', ...digest.split(':')), 'utf8');
  const kept = [];
  for (const entry of await layout.entries()) {
    const manifest = JSON.parse(await blob(entry.digest)) as OciManifest;
    const bundle = manifest.subject && JSON.parse(await blob(manifest.layers?.[0]?.digest ?? ''));
    if (!manifest.subject || !bundle) {
      kept.push(entry);
      continue;
    }
    change(bundle.dsseEnvelope, Buffer.from(bundle.dsseEnvelope.payload, 'base64').toString());
    const { artifactType = '', subject, annotations = {} } = manifest;
    const layers = [{ mediaType: artifactType, bytes: Buffer.from(JSON.stringify(bundle)) }];
    kept.push(await layout.add({ artifactType, subject, annotations, layers }));
  }
  await writeFile(join(copy, 'index.json'), JSON.stringify({ schemaVersion: 2, manifests: kept }));
  return copy;
}

/** A statement as the payload of an envelope. */
export const payloadOf = (statement: string): string => Buffer.from(statement).toString('base64');
