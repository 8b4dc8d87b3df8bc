import { randomUUID } from 'node:crypto';
import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { OmicronError } from '../../contract/problem.ts';
import type { ProfileStore } from '../ports/profile-store.ts';

/** Objects as files of a folder that only this user may read. A file is whole when it has its name. */
export function folderProfileStore(folder: string): ProfileStore {
  const pathOf = (name: string) => join(folder, name.slice(0, 2), name);
  const reached = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (cause) {
      throw new OmicronError('profile_unavailable', `The folder of profiles cannot be used: ${folder}.`, { cause });
    }
  };
  return {
    put: (name, bytes) =>
      reached(async () => {
        const path = pathOf(name);
        await mkdir(dirname(path), { recursive: true, mode: 0o700 });
        const draft = `${path}.${randomUUID()}`;
        try {
          const file = await open(draft, 'wx', 0o600);
          try {
            await file.writeFile(bytes);
            await file.sync();
          } finally {
            await file.close();
          }
          await rename(draft, path);
        } catch (error) {
          await rm(draft, { force: true });
          throw error;
        }
      }),
    get: name =>
      reached(() =>
        readFile(pathOf(name)).catch((error: NodeJS.ErrnoException) => {
          if (error.code === 'ENOENT') return null;
          throw error;
        }),
      ),
    remove: name => reached(() => rm(pathOf(name), { force: true })),
  };
}
