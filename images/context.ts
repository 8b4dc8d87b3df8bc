import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFile, cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { type Architecture, SECCOMP_PROFILE } from '../contract/names.ts';
import { importsOf } from './imports.ts';

const run = promisify(execFile);

/** The images that a cluster runs. */
export const CLUSTER_IMAGES = ['controller', 'runner', 'egress', 'console'] as const;
/** `local` is the local stack: all of them as processes of one container, for a laptop. */
export const IMAGES = [...CLUSTER_IMAGES, 'local'] as const;
export type ImageName = (typeof IMAGES)[number];

const RUNNER_PROGRAMS = [
  'runner/main.ts',
  'runner/files/pdf-text.program.ts',
  'runner/text-thread/text-thread.worker.ts',
  'runner/uploader/main.ts',
  'runner/watchdog.program.js',
];

interface Contents {
  /** Programs that the image starts. */
  readonly programs: readonly string[];
  /** Besides the shared ones. */
  readonly rooms: readonly string[];
  /** The rooms whose package.json names its npm packages: of what the programs import, no others are in it. */
  readonly packagesOf: readonly string[];
  /** Files of the repository that are at its top. */
  readonly files?: readonly string[];
}

/** Rooms that every program imports. */
const SHARED = ['contract', 'http', 'process', 'time'];

const CONTENTS: Readonly<Record<ImageName, Contents>> = {
  controller: {
    programs: ['controller/main.ts'],
    rooms: ['controller', 'egress'],
    packagesOf: [...SHARED, 'controller', 'egress'],
  },
  runner: { programs: RUNNER_PROGRAMS, rooms: ['runner'], packagesOf: [...SHARED, 'runner'] },
  egress: { programs: ['egress/main.ts'], rooms: ['egress'], packagesOf: [...SHARED, 'egress'] },
  console: {
    programs: ['console/main.ts'],
    rooms: ['console', 'client'],
    packagesOf: [...SHARED, 'client', 'console'],
  },
  local: {
    programs: ['cli/main.ts', 'egress/main.ts', ...RUNNER_PROGRAMS],
    rooms: ['cli', 'client', 'console', 'controller', 'egress', 'local', 'runner'],
    packagesOf: ['cli'], // the published command's: without those for AWS
    files: [`infra/${SECCOMP_PROFILE}`],
  },
};

/** The names of processors in npm. */
const NPM_CPUS = { amd64: 'x64', arm64: 'arm64' } as const satisfies Record<Architecture, string>;

/** The architecture of this machine's images. */
export const HOST_ARCHITECTURE: Architecture = process.arch === 'arm64' ? 'arm64' : 'amd64';

/** Arguments of a Dockerfile, by name. */
export type BuildArgs = Readonly<Record<string, string>>;

/** A folder from which one image is built, and the digest of everything in it. */
export interface Context {
  readonly path: string;
  /** Sixteen hex digits over the sources, the locked packages, the Dockerfile and its arguments: the image's tag. */
  readonly tag: string;
}

/**
 * Makes the build context of an image below `root`: its rooms, the shared ones, and the npm packages that these import, as
 * `package-lock.json` pins them, for one architecture. Only what changed is rebuilt.
 */
export async function buildContext(
  name: ImageName,
  root: string,
  args: BuildArgs,
  architecture: Architecture = HOST_ARCHITECTURE,
): Promise<Context> {
  const path = join(root, architecture === HOST_ARCHITECTURE ? name : `${name}-${architecture}`);
  await mkdir(path, { recursive: true });
  const { programs, rooms, packagesOf, files = [] } = CONTENTS[name];
  const about = await readJson('package.json');
  const versions = await declaredVersions(packagesOf);
  const { packages } = await importsOf(programs);
  const manifest = {
    name: `omicron-browser-${name}`,
    version: about.version,
    license: about.license,
    type: about.type,
    dependencies: Object.fromEntries(
      ['node', ...packages]
        .filter(each => versions[each])
        .sort()
        .map(each => [each, versions[each]]),
    ),
    allowScripts: { node: true },
  };
  await lockedPackages(path, `${JSON.stringify(manifest, null, 2)}\n`, architecture);
  for (const room of [...SHARED, ...rooms]) {
    await rm(join(path, room), { recursive: true, force: true });
    await cp(room, join(path, room), { recursive: true, filter: file => !file.includes('node_modules') });
  }
  for (const file of files) await copyFile(file, join(path, basename(file)));
  return { path, tag: await digestOf(path, args, architecture) };
}

/** The exact version of each package that the rooms name, and of the Node.js that the images start. */
async function declaredVersions(rooms: readonly string[]): Promise<Readonly<Record<string, string>>> {
  const manifests = await Promise.all(rooms.map(room => readJson(join(room, 'package.json'))));
  const { devDependencies } = await readJson('local/package.json');
  return Object.assign({ node: devDependencies.node }, ...manifests.map(({ dependencies }) => dependencies));
}

const readJson = async (path: string) => JSON.parse(await readFile(path, 'utf8'));

/**
 * Installs the packages of `manifest`; npm drops from the whole project's lock what they do not need. Only the program of
 * the `node` package is kept, as `bin/node`: the rest are headers and a second copy.
 */
async function lockedPackages(path: string, manifest: string, architecture: Architecture): Promise<void> {
  const lock = await readFile('package-lock.json');
  const cpu = NPM_CPUS[architecture];
  const stamp = createHash('sha256').update(manifest).update(lock).update(cpu).digest('hex');
  const stampPath = join(path, '.installed');
  if ((await readFile(stampPath, 'utf8').catch(() => '')) === stamp) return;
  await rm(path, { recursive: true });
  await mkdir(path);
  await writeFile(join(path, 'package.json'), manifest);
  await writeFile(join(path, 'package-lock.json'), lock);
  const npm = (...args: string[]) => run('npm', [...args, '--no-audit', '--no-fund'], { cwd: path });
  await npm('install', '--package-lock-only', '--ignore-scripts');
  const foreign = architecture !== HOST_ARCHITECTURE;
  // npm leaves out packages that name another processor, system or C library
  await npm('ci', '--omit=dev', ...(foreign ? [`--cpu=${cpu}`, '--os=linux', '--libc=glibc', '--ignore-scripts'] : []));
  await mkdir(join(path, 'bin'));
  if (foreign) await foreignNode(path, cpu);
  else await copyFile(join(path, 'node_modules/node/bin/node'), join(path, 'bin/node'));
  await rm(join(path, 'node_modules/node'), { recursive: true });
  await writeFile(stampPath, stamp);
}

/** Puts the program of another processor into `bin/`: the `node` package installs this machine's by its script, from packages like this one. */
async function foreignNode(path: string, cpu: string): Promise<void> {
  const { version } = await readJson(join(path, 'node_modules/node/package.json'));
  const folder = await mkdtemp(join(tmpdir(), 'omicron-node-'));
  try {
    const { stdout } = await run('npm', ['pack', '--silent', `node-linux-${cpu}@${version}`], { cwd: folder });
    await run('tar', ['-xzf', stdout.trim(), 'package/bin/node'], { cwd: folder });
    await copyFile(join(folder, 'package/bin/node'), join(path, 'bin/node'));
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function digestOf(path: string, args: BuildArgs, architecture: Architecture): Promise<string> {
  const hash = createHash('sha256').update(`${NPM_CPUS[architecture]}\0${JSON.stringify(args)}\0`);
  const files = (await readdir(path, { recursive: true, withFileTypes: true }))
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name).slice(path.length + 1))
    .filter(file => !/^(node_modules|bin)\//.test(file)) // the lock says it all
    .sort();
  for (const file of files) hash.update(`${file}\0`).update(await readFile(join(path, file)));
  return hash.digest('hex').slice(0, 16);
}
