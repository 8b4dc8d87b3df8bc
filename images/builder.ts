import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Architecture } from '../contract/names.ts';

export interface BuildHow {
  /** Another architecture than this machine's: what the Dockerfile runs needs an emulator then. */
  readonly foreign?: Architecture | undefined;
  /** Every step is carried out, as on a machine that has built nothing. */
  readonly uncached?: boolean;
}

/** The program that makes images. Names are full references, e.g. `localhost/omicron-browser-runner:0123456789abcdef`. */
export interface Builder {
  exists(image: string): Promise<boolean>;
  /** Pulls an image by its tag; answers the digest, `sha256:…`, that the tag has in its registry. */
  pull(image: string): Promise<string>;
  build(
    image: string,
    context: string,
    dockerfile: string,
    args: Readonly<Record<string, string>>,
    how?: BuildHow,
  ): Promise<void>;
  /** Digest of an image that was built: the same for the same files and settings. */
  digest(image: string): Promise<string>;
  /** Runs a command in the image; answers what it printed. */
  output(image: string, command: readonly string[]): Promise<string>;
  /** Pushes under another reference; answers the digest, `sha256:…`, under which the registry keeps it. */
  push(image: string, to: string): Promise<string>;
  /** Writes images into one file that containerd and docker import; layers that they share are in it once. */
  archive(images: readonly string[], path: string): Promise<void>;
}

/**
 * Time of an image and of its files, in seconds: the time of the build would give each build another digest. 1 January 2020.
 * https://reproducible-builds.org/specs/source-date-epoch/
 */
const SOURCE_DATE_EPOCH = '1577836800';
/** Images in the folder of layers, some 150 MB each, before it is cleared. */
const ARCHIVED_MAX = 16;
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;

/** Runs a command and answers what it printed; throws what it printed as errors when it fails. */
type Run = (command: string, ...args: readonly string[]) => Promise<string>;

const runIn =
  (environment: NodeJS.ProcessEnv): Run =>
  async (command, ...args) => {
    const { stdout } = await promisify(execFile)(command, args, { env: environment, maxBuffer: OUTPUT_BYTES_MAX });
    return stdout.trim();
  };

const succeeds = (work: Promise<unknown>): Promise<boolean> =>
  work.then(
    () => true,
    () => false,
  );

const buildArgs = (args: Readonly<Record<string, string>>) =>
  Object.entries(args).flatMap(([name, value]) => ['--build-arg', `${name}=${value}`]);

const howArgs = ({ foreign, uncached }: BuildHow) => [
  ...(foreign ? [`--platform=linux/${foreign}`] : []),
  ...(uncached ? ['--no-cache'] : []),
];

const docker = (run: Run): Builder => ({
  exists: image => succeeds(run('docker', 'image', 'inspect', image)),
  async pull(image) {
    const digest = /^Digest: (sha256:\S+)$/m.exec(await run('docker', 'pull', image))?.[1];
    if (digest === undefined) throw new Error(`docker does not say under which digest ${image} was pulled`);
    return digest;
  },
  async build(image, context, dockerfile, args, how = {}) {
    const all = buildArgs({ ...args, SOURCE_DATE_EPOCH });
    await run('docker', 'build', ...howArgs(how), '-t', image, '-f', dockerfile, ...all, context);
  },
  digest: image => run('docker', 'image', 'inspect', '--format={{.Id}}', image),
  output: (image, [program = '', ...args]) => run('docker', 'run', '--rm', '--entrypoint', program, image, ...args),
  async push(image, to) {
    await run('docker', 'tag', image, to);
    await run('docker', 'push', to);
    const digests: string[] = JSON.parse(await run('docker', 'image', 'inspect', '--format={{json .RepoDigests}}', to));
    const repository = to.slice(0, to.lastIndexOf(':'));
    const digest = digests.find(each => each.startsWith(`${repository}@`))?.split('@')[1];
    if (digest === undefined) throw new Error(`docker does not say under which digest ${to} was pushed`);
    return digest;
  },
  archive: async (images, path) => void (await run('docker', 'save', '-o', path, ...images)),
});

const buildah = (run: Run): Builder => ({
  exists: image => succeeds(run('buildah', 'inspect', '--type', 'image', image)),
  async pull(image) {
    await run('buildah', 'pull', '--quiet', `docker://${image}`);
    return await run('buildah', 'inspect', '--type', 'image', '--format', '{{.FromImageDigest}}', image);
  },
  async build(image, context, dockerfile, args, how = {}) {
    const options = ['--layers', '--timestamp', SOURCE_DATE_EPOCH, ...howArgs(how)];
    await run('buildah', 'bud', ...options, '-t', image, '-f', dockerfile, ...buildArgs(args), context);
  },
  digest: image => run('buildah', 'inspect', '--type', 'image', '--format', '{{.FromImageDigest}}', image),
  async output(image, command) {
    const container = await run('buildah', 'from', image);
    try {
      return await run('buildah', 'run', container, '--', ...command);
    } finally {
      await run('buildah', 'rm', container);
    }
  },
  async push(image, to) {
    const folder = await mkdtemp(join(tmpdir(), 'omicron-push-'));
    try {
      await run('buildah', 'push', '--digestfile', join(folder, 'digest'), image, `docker://${to}`);
      return (await readFile(join(folder, 'digest'), 'utf8')).trim();
    } finally {
      await rm(folder, { recursive: true });
    }
  },
  async archive(images, path) {
    // Kept: layers that it holds already, a base image's above all, are not written again.
    const folder = `${path}.oci`;
    const { manifests } = JSON.parse(
      await readFile(join(folder, 'index.json'), 'utf8').catch(() => '{"manifests":[]}'),
    );
    if (manifests.length > ARCHIVED_MAX) await rm(folder, { recursive: true });
    for (const image of images) await run('buildah', 'push', '--disable-compression', image, `oci:${folder}:${image}`);
    await run('tar', '-C', folder, '-cf', path, '.');
  },
});

/** Docker where its engine answers, else buildah. Both run with this environment. */
export async function findBuilder(environment: NodeJS.ProcessEnv): Promise<Builder> {
  const run = runIn(environment);
  if (await succeeds(run('docker', 'version'))) return docker(run);
  if (await succeeds(run('buildah', '--version'))) return buildah(run);
  throw new Error(
    'Images need docker with a running engine, or buildah ("apt install buildah"). Install one and run it again.',
  );
}
