import type { KeyObject } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Descriptor, MEDIA, type OciManifest } from '../../cli/verify/contents.ts';
import { type Layout, openLayout } from '../../release/oci/layout.ts';
import { pushRelease } from '../../release/oci/push.ts';
import { signRelease } from '../../release/oci/sign.ts';
import { keySigner } from '../../release/oci/signing-key.ts';
import { newFolder } from '../local/machine.ts';

const VERSION = '1.2.3';
const SBOM = { bomFormat: 'CycloneDX', specVersion: '1.5', components: [] };

export interface TestImage {
  readonly layout: Layout;
  readonly entry: Descriptor;
}

/** An image of one layer, signed as a release is, or not at all. */
export async function imageLayout(name: string, signer?: KeyObject): Promise<TestImage> {
  const layout = await openLayout(await newFolder());
  const config = '{"architecture":"amd64","os":"linux","config":{},"rootfs":{"type":"layers","diff_ids":[]}}';
  const entry = await layout.add({
    name: `runner:${VERSION}`,
    config: { mediaType: 'application/vnd.oci.image.config.v1+json', bytes: Buffer.from(config) },
    layers: [{ mediaType: 'application/vnd.oci.image.layer.v1.tar', bytes: Buffer.from(`files of ${name}`) }],
  });
  const sboms = { runner: SBOM };
  const builder = 'https://e.com';
  if (signer)
    await signRelease(layout, { version: VERSION, signer: keySigner(signer), commit: 'c'.repeat(40), builder, sboms });
  return { layout, entry };
}

/** An unsigned image with the signatures of another one attached to it. */
export async function changedImage(signer: KeyObject): Promise<TestImage> {
  const original = await imageLayout('original', signer);
  const changed = await imageLayout('changed');
  const { mediaType, digest, size } = changed.entry;
  for (const entry of await original.layout.entries()) {
    const blob = (name: string) => readFile(join(original.layout.folder, 'blobs', ...name.split(':')));
    const { subject, artifactType, annotations, layers } = JSON.parse(
      (await blob(entry.digest)).toString(),
    ) as OciManifest;
    if (!subject || !artifactType || !layers?.[0]) continue;
    await changed.layout.add({
      artifactType,
      annotations,
      subject: { mediaType, digest, size },
      layers: [{ mediaType: MEDIA.bundle, bytes: await blob(layers[0].digest) }],
    });
  }
  return changed;
}

/** Pushes an image to a registry; answers its reference, by digest. */
export async function pushTestImage(registry: string, name: string, { layout, entry }: TestImage): Promise<string> {
  await pushRelease(layout, `${registry}/${name}`);
  return `${registry}/${name}/runner@${entry.digest}`;
}
