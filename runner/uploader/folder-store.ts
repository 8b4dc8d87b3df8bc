import { copyFile, mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, normalize, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { RecordingStore } from './recording-store.ts';

/**
 * A folder of this machine as the store. A reader never sees half a file. Takes whole files only, and replaces them.
 */
export function folderRecordingStore(root: URL): RecordingStore {
  const base = fileURLToPath(root);
  const pathOf = (key: string): string => {
    const target = normalize(join(base, key));
    if (!target.startsWith(normalize(base + sep))) throw new Error(`the key ${key} leads out of the store`);
    return target;
  };
  const unfinished = (key: string) => `${pathOf(key)}.part`;
  return {
    uri: key => pathToFileURL(pathOf(key)).href,
    advance: async () => undefined,
    async finish({ path, key }) {
      await mkdir(dirname(pathOf(key)), { recursive: true });
      try {
        await copyFile(path, unfinished(key));
        await sync(unfinished(key));
        await rename(unfinished(key), pathOf(key));
      } catch (error) {
        await rm(unfinished(key), { force: true });
        throw error;
      }
      return (await stat(pathOf(key))).size;
    },
    giveUp: ({ key }) => rm(unfinished(key), { force: true }),
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
