import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Descriptor, parseManifest, type ReleaseSource } from './contents.ts';
import { ReleaseFault } from './release-fault.ts';

/** In the index of a layout, the name of a manifest: <https://github.com/opencontainers/image-spec/blob/main/annotations.md>. */
export const REF_NAME = 'org.opencontainers.image.ref.name';

export const blobFile = (folder: string, digest: string): string => {
  if (!/^sha256:[0-9a-f]{64}$/.test(digest)) throw new ReleaseFault(`"${digest}" is no digest`, 'changed'); // it becomes a path
  return join(folder, 'blobs', ...digest.split(':'));
};

/** A release in a folder, as an OCI image layout: <https://github.com/opencontainers/image-spec/blob/main/image-layout.md>. */
export function folderSource(folder: string): ReleaseSource {
  const readBlob = (digest: string) =>
    readFile(blobFile(folder, digest)).catch(cause => {
      if (cause.code !== 'ENOENT') throw cause;
      throw new ReleaseFault(`${digest} is not in ${folder}`, 'changed');
    });
  const entries = async (): Promise<readonly Descriptor[]> => {
    const text = await readFile(join(folder, 'index.json'), 'utf8').catch(() => {
      throw new ReleaseFault(`${folder} has no index.json: it is no OCI layout`, 'place');
    });
    return parseManifest(Buffer.from(text), join(folder, 'index.json')).manifests ?? [];
  };
  return {
    hasLayers: true,
    async manifest(part, version) {
      const name = `${part}:${version}`;
      const found = (await entries()).find(({ annotations }) => annotations?.[REF_NAME] === name);
      if (found === undefined) throw new ReleaseFault(`${name} is not in ${folder}`, 'place');
      return await readBlob(found.digest);
    },
    blob: async (_, { digest }) => await readBlob(digest),
    async referrers(_, digest) {
      const found: Descriptor[] = [];
      for (const each of await entries()) {
        const { subject } = parseManifest(await readBlob(each.digest), each.digest);
        if (subject?.digest === digest) found.push(each);
      }
      return found;
    },
  };
}
