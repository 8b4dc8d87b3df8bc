import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Descriptor, digestOf, MEDIA, type OciManifest } from '../../cli/verify/contents.ts';
import { blobFile, REF_NAME } from '../../cli/verify/folder.ts';

/** Bytes that become a blob. */
export interface Content {
  readonly mediaType: string;
  readonly bytes: Buffer;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** An OCI image layout that is written; what is in it already stays. */
export interface Layout {
  readonly folder: string;
  /** Writes a manifest with its blobs, under a name such as `chart:0.1.0`, or as a referrer of its subject. */
  add(manifest: {
    readonly artifactType?: string;
    readonly config?: Content;
    readonly layers: readonly Content[];
    readonly subject?: Descriptor;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly name?: string;
  }): Promise<Descriptor>;
  entries(): Promise<readonly Descriptor[]>;
}

const NOTHING: Content = { mediaType: MEDIA.empty, bytes: Buffer.from('{}') };

/** Opens the layout in a folder, or begins one there. */
export async function openLayout(folder: string): Promise<Layout> {
  await mkdir(join(folder, 'blobs', 'sha256'), { recursive: true });
  await writeFile(join(folder, 'oci-layout'), '{"imageLayoutVersion":"1.0.0"}\n');
  const index = join(folder, 'index.json');
  const entries = async (): Promise<readonly Descriptor[]> =>
    (JSON.parse(await readFile(index, 'utf8').catch(() => '{}')) as OciManifest).manifests ?? [];

  async function writeBlob({ mediaType, bytes, annotations }: Content): Promise<Descriptor> {
    const digest = digestOf(bytes);
    await writeFile(blobFile(folder, digest), bytes);
    return { mediaType, digest, size: bytes.length, ...(annotations ? { annotations } : {}) };
  }
  return {
    folder,
    entries,
    async add({ artifactType, config = NOTHING, layers, subject, annotations, name }) {
      const descriptors: Descriptor[] = [];
      for (const layer of layers) descriptors.push(await writeBlob(layer));
      const manifest = {
        schemaVersion: 2,
        mediaType: MEDIA.manifest,
        artifactType,
        config: await writeBlob(config),
        layers: descriptors,
        subject,
        annotations,
      };
      const written = await writeBlob({ mediaType: MEDIA.manifest, bytes: Buffer.from(JSON.stringify(manifest)) });
      const others = (await entries()).filter(
        each => each.digest !== written.digest && (name === undefined || each.annotations?.[REF_NAME] !== name),
      );
      const entry = {
        ...written,
        ...(artifactType ? { artifactType } : {}),
        ...(name ? { annotations: { [REF_NAME]: name } } : {}),
      };
      const whole = { schemaVersion: 2, mediaType: MEDIA.index, manifests: [...others, entry] };
      await writeFile(index, `${JSON.stringify(whole, null, 2)}\n`);
      return entry;
    },
  };
}
