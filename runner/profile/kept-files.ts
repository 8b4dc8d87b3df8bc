import { type Dirent, existsSync, linkSync, mkdirSync } from 'node:fs';
import { copyFile, readdir } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';

/**
 * Data of sites beside their cookies, below the user data folder. Everything else there is a cache, or about the browser and not its
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

/** Tables of LevelDB and large values of IndexedDB, which are most of the bytes: Chromium writes each once, under a name of its own. */
const isWrittenOnce = (path: string): boolean => path.endsWith('.ldb') || path.includes('.indexeddb.blob/');

/**
 * Keeps these files, as they are now, in an empty folder of the same file system. Those that are not written again are linked, not
 * copied: the browser is paused meanwhile, and thousands of new files cost ext4 seconds while others were deleted lately.
 */
export async function copyKept(userDataDir: string, into: string): Promise<void> {
  const paths = await keptFiles(userDataDir);
  for (const folder of new Set(paths.map(path => dirname(path))))
    mkdirSync(join(into, folder), { recursive: true, mode: 0o700 });
  for (const path of paths) {
    const [from, copy] = [join(userDataDir, path), join(into, path)];
    if (isWrittenOnce(path)) linkSync(from, copy);
    else await copyFile(from, copy);
  }
}
