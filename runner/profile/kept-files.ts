import { type Dirent, existsSync } from 'node:fs';
import { copyFile, mkdir, readdir } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';

/**
 * What sites store beside their cookies, below the user data folder. Everything else there is a cache, or about the browser and not its
 * logins; cookies are read over the protocol, where session cookies are among them.
 */
const KEPT = [
  'Default/IndexedDB',
  'Default/Local Storage',
  'Default/Service Worker',
  'Default/File System',
  'Default/WebStorage',
] as const;

/** LevelDB's locks and logs of its work hold nothing. */
const isKept = (entry: Dirent): boolean => entry.isFile() && entry.name !== 'LOCK' && !/^LOG(\.old)?$/.test(entry.name);

/** The files of a user data folder that a profile keeps, as paths below it, in an order that does not change. */
export async function keptFiles(userDataDir: string): Promise<string[]> {
  const found = await Promise.all(
    KEPT.map(async folder => {
      const path = join(userDataDir, folder);
      if (!existsSync(path)) return [];
      const entries = await readdir(path, { recursive: true, withFileTypes: true });
      return entries.filter(isKept).map(({ parentPath, name }) => relative(userDataDir, join(parentPath, name)));
    }),
  );
  return found.flat().sort();
}

/** Copies these files into an empty folder. */
export async function copyKept(userDataDir: string, into: string): Promise<void> {
  for (const path of await keptFiles(userDataDir)) {
    const copy = join(into, path);
    await mkdir(dirname(copy), { recursive: true, mode: 0o700 });
    await copyFile(join(userDataDir, path), copy);
  }
}
