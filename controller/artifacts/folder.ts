import { createReadStream } from 'node:fs';
import { rm, rmdir, stat } from 'node:fs/promises';
import { dirname, join, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ArtifactStore } from '../ports/artifacts.ts';

/** Artifacts in a folder; never touches a path outside it. */
export function folderArtifacts(folder: string): ArtifactStore {
  const root = resolve(folder);
  const pathOf = (uri: string): string => {
    const path = resolve(fileURLToPath(uri));
    if (!path.startsWith(join(root, sep))) throw new Error(`the artifact is not in ${root}`);
    return path;
  };
  return {
    async read(uri) {
      const path = pathOf(uri);
      const found = await stat(path).catch(() => null);
      if (found === null) return null;
      return { bytes: found.size, stream: (start, end) => createReadStream(path, { start, end }) };
    },
    async remove(uri) {
      const path = pathOf(uri);
      await rm(path, { force: true });
      for (let parent = dirname(path); parent !== root; parent = dirname(parent)) {
        try {
          await rmdir(parent);
        } catch {
          return; // another artifact is still there
        }
      }
    },
  };
}
