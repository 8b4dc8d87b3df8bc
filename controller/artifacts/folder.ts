import { rm, rmdir } from 'node:fs/promises';
import { dirname, join, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ArtifactStore } from '../ports/artifacts.ts';

/** Artifacts in a folder; never touches a path outside it. */
export function folderArtifacts(folder: string): ArtifactStore {
  const root = resolve(folder);
  return {
    async remove(uri) {
      const path = resolve(fileURLToPath(uri));
      if (!path.startsWith(join(root, sep))) throw new Error(`the artifact is not in ${root}`);
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
