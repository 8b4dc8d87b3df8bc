import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { catalogueEntries, serverJson } from './catalogue.ts';

const ROOT = join(import.meta.dirname, '..');
const read = (path: string) => readFile(join(ROOT, path), 'utf8');
const write = (path: string, text: string) => writeFile(join(ROOT, path), text);
const jsonText = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;

/** Files that `catalogue.ts` writes. */
const CATALOGUE = {
  'release/server.json': serverJson,
  'release/catalogue.json': catalogueEntries,
} as const;

const IN_OPENAPI = /(?<="version": ")[^"]+/;
/** The version in files of other formats: what stands before and after it. */
const QUOTED: Readonly<Record<string, RegExp>> = {
  'docs/openapi.json': IN_OPENAPI,
  'docs/internal-openapi.json': IN_OPENAPI,
  'docs/runner-openapi.json': IN_OPENAPI,
  'client/mcp.ts': /(?<=name: 'omicron-browser', version: ')[^']+/,
  'local/mcp-browser.ts': /(?<=name: 'omicron-browser', version: ')[^']+/,
  'clients/python/pyproject.toml': /(?<=^version = ")[^"]+/m,
  'clients/python/src/omicron_browser/__init__.py': /(?<=^__version__ = ")[^"]+/m,
  'clients/python/src/omicron_browser/mcp_messages.py': /(?<="name": "omicron-browser", "version": ")[^"]+/,
};

/** The one place of the version: package.json of the repository. All others are written from it. */
export const readVersion = async (): Promise<string> => JSON.parse(await read('package.json')).version;

/** Every file that has the version, as it is to be. */
async function filesFor(wanted: string): Promise<Map<string, string>> {
  const { workspaces }: { workspaces: string[] } = JSON.parse(await read('package.json'));
  const files = new Map<string, string>();
  for (const path of ['package.json', ...workspaces.map(room => `${room}/package.json`)])
    files.set(path, (await read(path)).replace(/(?<="version": ")[^"]+/, wanted));
  for (const [path, pattern] of Object.entries(QUOTED)) files.set(path, (await read(path)).replace(pattern, wanted));
  files.set('package-lock.json', await lockFor(wanted, workspaces));
  for (const [path, content] of Object.entries(CATALOGUE)) files.set(path, jsonText(content(wanted)));
  return files;
}

/** As npm writes it. */
async function lockFor(wanted: string, workspaces: readonly string[]): Promise<string> {
  const lock = JSON.parse(await read('package-lock.json'));
  for (const each of [lock, lock.packages[''], ...workspaces.map(room => lock.packages[room])]) each.version = wanted;
  return jsonText(lock);
}

/** Writes the version wherever it stands. */
export async function setVersion(wanted: string): Promise<void> {
  if (!/^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/.test(wanted)) throw new Error(`"${wanted}" is no version, e.g. 0.2.0`);
  for (const [path, text] of await filesFor(wanted)) await write(path, text);
}

/** Why this tree cannot be released: files that are not as the version wants them, and a change log without an entry for it. */
export async function findFaults(): Promise<string[]> {
  const current = await readVersion();
  const found: string[] = [];
  for (const [path, text] of await filesFor(current))
    if ((await read(path).catch(() => '')) !== text) found.push(`${path} does not have version ${current}`);
  if (!(await read('CHANGELOG.md')).includes(`\n## ${current}`)) found.push(`CHANGELOG.md has no entry for ${current}`);
  return found;
}
