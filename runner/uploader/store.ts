import { copyFile, mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname, join, normalize, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** Where recordings are kept. */
export interface ArtifactStore {
  /** Stores the file under `key` (replacing it: a repeated call is harmless) and answers its URI. Rejects when it may be tried again. */
  put(path: string, key: string): Promise<string>;
}

/** A folder as the store, for one machine. A reader never sees half a file. */
export function dirStore(root: URL): ArtifactStore {
  const base = fileURLToPath(root);
  return {
    async put(path, key) {
      const target = normalize(join(base, key));
      if (!target.startsWith(normalize(base + sep))) throw new Error(`the key ${key} leads out of the store`);
      await mkdir(dirname(target), { recursive: true });
      const unfinished = `${target}.part`;
      try {
        await copyFile(path, unfinished);
        await sync(unfinished);
        await rename(unfinished, target);
      } catch (error) {
        await rm(unfinished, { force: true });
        throw error;
      }
      return pathToFileURL(target).href;
    },
  };
}

async function sync(path: string): Promise<void> {
  const file = await open(path, 'r');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}
