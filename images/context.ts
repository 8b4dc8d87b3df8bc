import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFile, cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { importsOf } from './imports.ts';

const run = promisify(execFile);

export const IMAGES = ['controller', 'runner', 'egress', 'console'] as const;
export type ImageName = (typeof IMAGES)[number];

/** Programs that an image starts; what they import is what it holds. */
const PROGRAMS: Readonly<Record<ImageName, readonly string[]>> = {
  controller: ['controller/main.ts'],
  runner: ['runner/main.ts', 'runner/uploader/main.ts'],
  egress: ['egress/main.ts'],
  console: ['console/main.ts'],
};

/** Rooms that an image holds beside its own. */
const ROOMS: Readonly<Record<ImageName, readonly string[]>> = {
  ...{ controller: ['contract', 'http'], runner: ['contract', 'http'], egress: ['contract', 'http'] },
  console: ['contract', 'http', 'client'],
};

/** Arguments of a Dockerfile, by name. */
export type BuildArgs = Readonly<Record<string, string>>;

/** A folder from which one image is built, and the digest of everything in it. */
export interface Context {
  readonly path: string;
  /** Sixteen hex digits over the sources, the locked packages, the Dockerfile and its arguments: the image's tag. */
  readonly tag: string;
}

/**
 * Makes the build context of an image below `root`: its room, those that it imports, and the npm packages that these import, as
 * `package-lock.json` pins them. Packages are installed for this machine's architecture. Only what changed is rebuilt.
 */
export async function buildContext(name: ImageName, root: string, args: BuildArgs): Promise<Context> {
  const path = join(root, name);
  await mkdir(path, { recursive: true });
  const rooms = [...ROOMS[name], name];
  const about = await json('package.json');
  const versions = await declaredVersions(rooms);
  const { packages } = await importsOf(PROGRAMS[name]);
  const manifest = {
    name: `omicron-browser-${name}`,
    version: about.version,
    license: about.license,
    type: about.type,
    dependencies: Object.fromEntries(['node', ...packages].sort().map(each => [each, versions[each]])),
    allowScripts: { node: true },
  };
  await lockedPackages(path, `${JSON.stringify(manifest, null, 2)}\n`);
  for (const room of rooms) {
    await rm(join(path, room), { recursive: true, force: true });
    await cp(room, join(path, room), { recursive: true, filter: file => !file.includes('node_modules') });
  }
  return { path, tag: await digestOf(path, args) };
}

/** The exact version of each package that the rooms may import, and of the Node.js that the images start. */
async function declaredVersions(rooms: readonly string[]): Promise<Readonly<Record<string, string>>> {
  const manifests = await Promise.all(rooms.map(room => json(join(room, 'package.json'))));
  const { devDependencies } = await json('local/package.json');
  return Object.assign({ node: devDependencies.node }, ...manifests.map(({ dependencies }) => dependencies));
}

const json = async (path: string) => JSON.parse(await readFile(path, 'utf8'));

/**
 * Installs the packages of `manifest`; npm drops from the whole project's lock what they do not need. Of the `node` package
 * only the program is kept, as `bin/node`: the rest are headers and a second copy.
 */
async function lockedPackages(path: string, manifest: string): Promise<void> {
  const lock = await readFile('package-lock.json');
  const stamp = createHash('sha256').update(manifest).update(lock).update(process.arch).digest('hex');
  const stampPath = join(path, '.installed');
  if ((await readFile(stampPath, 'utf8').catch(() => '')) === stamp) return;
  await rm(path, { recursive: true });
  await mkdir(path);
  await writeFile(join(path, 'package.json'), manifest);
  await writeFile(join(path, 'package-lock.json'), lock);
  const npm = (...args: string[]) => run('npm', [...args, '--no-audit', '--no-fund'], { cwd: path });
  await npm('install', '--package-lock-only', '--ignore-scripts');
  await npm('ci', '--omit=dev');
  await mkdir(join(path, 'bin'));
  await copyFile(join(path, 'node_modules/node/bin/node'), join(path, 'bin/node'));
  await rm(join(path, 'node_modules/node'), { recursive: true });
  await writeFile(stampPath, stamp);
}

async function digestOf(path: string, args: BuildArgs): Promise<string> {
  const hash = createHash('sha256').update(`${process.arch}\0${JSON.stringify(args)}\0`);
  const files = (await readdir(path, { recursive: true, withFileTypes: true }))
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name).slice(path.length + 1))
    .filter(file => !/^(node_modules|bin)\//.test(file)) // the lock says it all
    .sort();
  for (const file of files) hash.update(`${file}\0`).update(await readFile(join(path, file)));
  return hash.digest('hex').slice(0, 16);
}
