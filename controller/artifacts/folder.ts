import { createReadStream } from 'node:fs';
import { rm, rmdir, stat } from 'node:fs/promises';
import { dirname, join, resolve, sep } from 'node:path';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { ArtifactStore } from '../ports/artifacts.ts';

/** Artifacts in a folder; never touches a path outside it. */
export function folderArtifacts(folder: string): ArtifactStore {
  const root = resolve(folder);
  /** Undefined for what another store, or another folder, has. */
  const pathOf = (uri: string): string | undefined => {
    const url = URL.parse(uri);
    if (url?.protocol !== 'file:' || url.host !== '') return undefined;
    const path = resolve(fileURLToPath(url));
    return path.startsWith(join(root, sep)) ? path : undefined;
  };
  const store: ArtifactStore = {
    async read(uri) {
      const path = pathOf(uri);
      if (path === undefined) return null;
      const found = await stat(path).catch(() => null);
      if (found === null) return null;
      const { size: bytes } = found;
      // an empty file has no part that could be read
      return {
        bytes,
        stream: (start, end) => (bytes === 0 ? Readable.from([]) : createReadStream(path, { start, end })),
      };
    },
    async erase(uri) {
      await store.remove(uri);
    },
    sign: async () => null,
    survey: async () => null,
    async remove(uri) {
      const path = pathOf(uri);
      if (path === undefined) throw new Error(`the artifact is not in ${root}`);
      await rm(path, { force: true });
      for (let parent = dirname(path); parent !== root; parent = dirname(parent)) {
        try {
          await rmdir(parent);
        } catch {
          break; // another artifact is still there
        }
      }
      return true;
    },
  };
  return store;
}
