import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

const { workspaces } = JSON.parse(await readFile('package.json', 'utf8')) as { workspaces: string[] };

/** The top-level folders that hold code. */
export const ROOMS: readonly string[] = workspaces;

const NOT_OURS = /(^|\/)(node_modules|rendered)(\/|$)/;

/** Files below the folders whose path matches, with their text, in the order of their paths. */
export async function filesOf(folders: readonly string[], path: RegExp): Promise<[path: string, text: string][]> {
  const found: string[] = [];
  for (const folder of folders)
    for (const entry of await readdir(folder, { withFileTypes: true, recursive: true })) {
      const file = join(entry.parentPath, entry.name);
      if (entry.isFile() && path.test(file) && !NOT_OURS.test(file)) found.push(file);
    }
  return Promise.all(found.sort().map(async file => [file, await readFile(file, 'utf8')] as [string, string]));
}

/** The pages for readers: README, CONTRIBUTING, docs/ and the READMEs of rooms. */
export const pages = async (): Promise<[path: string, text: string][]> => [
  ['README.md', await readFile('README.md', 'utf8')],
  ['CONTRIBUTING.md', await readFile('CONTRIBUTING.md', 'utf8')],
  ...(await filesOf(['docs'], /\.md$/)),
  ...(await filesOf(ROOMS, /(^|\/)README\.md$/)),
];
