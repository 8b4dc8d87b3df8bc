import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cp, mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { againName, buildImages, IMAGES_DIR, rebuildImages } from '../images/build.ts';
import { type Builder, findBuilder } from '../images/builder.ts';
import { CLUSTER_IMAGES, IMAGES } from '../images/context.ts';
import { localTool } from './kubectl.ts';

const run = promisify(execFile);

/** References under which the cluster finds the images. */
export type ClusterImages = Readonly<Record<(typeof CLUSTER_IMAGES)[number] | 'fixtures', string>>;

/** The local cluster's machine reaches no registry: it has a base image of its own, with a browser. */
const LOCAL = {
  base: 'localhost/omicron-base',
  runnerPackages: 'ffmpeg libnss3-tools tini chromium-headless-shell',
} as const;

/** How buildah runs inside a container; the caller's environment may say otherwise. */
const BUILDAH = { STORAGE_DRIVER: 'overlay', BUILDAH_ISOLATION: 'chroot' } as const;

const FIXTURE_PARTS = ['local', 'cluster', 'test/site', 'test/fakes'];
const MOTO = 'moto[server]==5.2.1';

/**
 * Builds the images of the product and of the fixtures, and puts them where the cluster pulls them: into the node of
 * the local cluster, else into `registry`.
 */
export async function clusterImages(
  registry: string | undefined,
  environment: NodeJS.ProcessEnv,
  log: (line: string) => void,
): Promise<ClusterImages> {
  const tool = localTool();
  if (tool === undefined && registry === undefined)
    throw new Error(
      'No image registry for this cluster. Name one that its nodes can pull from: npm run cluster -- --registry HOST/PATH',
    );
  const builder = await (tool === undefined ? findBuilder(environment) : besideBuilder(tool, environment));
  const product = await buildImages(builder, { names: CLUSTER_IMAGES, ...(tool === undefined ? {} : LOCAL), log });
  const images = { ...product, fixtures: await fixturesImage(builder, product.runner, log) };
  if (tool === undefined) return push(builder, images, registry ?? '', log);
  await load(builder, tool, Object.values(images), log);
  return images;
}

/** The image of the local stack, in the node of the cluster beside the checkout. Answers its name there. */
export async function localStackImage(
  tool: string,
  environment: NodeJS.ProcessEnv,
  log: (line: string) => void,
): Promise<string> {
  const builder = await besideBuilder(tool, environment);
  const { local } = await buildImages(builder, { names: ['local'], ...LOCAL, log });
  await load(builder, tool, [local], log);
  return local;
}

/**
 * Builds all that tests on the cluster beside the checkout run, and loads none of it: that takes minutes, in which the cluster need not be
 * up.
 */
export async function testImages(
  tool: string,
  environment: NodeJS.ProcessEnv,
  log: (line: string) => void,
): Promise<void> {
  const builder = await besideBuilder(tool, environment);
  const { runner } = await buildImages(builder, { names: IMAGES, ...LOCAL, log });
  await fixturesImage(builder, runner, log);
}

/** Builds the images of the product, and each once more: whether both have the same digest. */
export async function rebuildTestImages(
  tool: string,
  environment: NodeJS.ProcessEnv,
  log: (line: string) => void,
): Promise<Readonly<Record<(typeof CLUSTER_IMAGES)[number], boolean>>> {
  const builder = await besideBuilder(tool, environment);
  const options = { names: CLUSTER_IMAGES, ...LOCAL, log };
  await buildImages(builder, options);
  return rebuildImages(builder, options);
}

/**
 * Writes the images of the product into an OCI layout, as parts of a release of this version; answers the SBOM file of each. `again` installs
 * and builds all of them once more, without a cache. Buildah alone writes layouts.
 */
export async function writeReleaseImages(
  tool: string,
  { folder, version, again }: { folder: string; version: string; again: boolean },
  environment: NodeJS.ProcessEnv,
): Promise<Readonly<Record<string, string>>> {
  const builder = await besideBuilder(tool, environment);
  const options = { names: CLUSTER_IMAGES, ...LOCAL, log: () => {} };
  const images = await buildImages(builder, options);
  if (again) await rebuildImages(builder, options);
  const sboms: Record<string, string> = {};
  for (const name of CLUSTER_IMAGES) {
    const image = again ? againName(name) : images[name];
    await run('buildah', ['push', '--quiet', image, `oci:${folder}:${name}:${version}`], {
      env: { ...BUILDAH, ...environment },
    });
    sboms[name] = join(IMAGES_DIR, `${name}-${images[name].split(':')[1]}.cdx.json`);
  }
  return sboms;
}

/** The builder for the cluster beside the checkout, once its base image is built. */
async function besideBuilder(tool: string, environment: NodeJS.ProcessEnv): Promise<Builder> {
  const env = { ...BUILDAH, ...environment };
  await run(tool, ['base'], { env });
  return findBuilder(env);
}

async function push(builder: Builder, images: ClusterImages, registry: string, log: (line: string) => void) {
  const pushed: [string, string][] = [];
  for (const [name, image] of Object.entries(images)) {
    const to = `${registry}/${image.slice('localhost/'.length)}`;
    await builder.push(image, to);
    log(`pushed   ${to}`);
    pushed.push([name, to]);
  }
  return Object.fromEntries(pushed) as ClusterImages; // the same keys
}

async function load(builder: Builder, tool: string, images: readonly string[], log: (line: string) => void) {
  const { stdout } = await run(tool, ['ctr', '-n', 'k8s.io', 'images', 'ls', '-q']);
  const missing = images.filter(image => !stdout.split('\n').includes(image));
  if (missing.length === 0) return;
  const archive = join(IMAGES_DIR, 'load.tar');
  await rm(archive, { force: true });
  await builder.archive(missing, archive);
  await run(tool, ['load', archive]);
  await rm(archive);
  for (const image of missing) log(`loaded   ${image}`);
}

/** Postgres, moto, sites and proxy on the runner's image. */
async function fixturesImage(builder: Builder, runner: string, log: (line: string) => void): Promise<string> {
  const context = join(IMAGES_DIR, 'fixtures');
  const wheels = join(context, 'wheels');
  await mkdir(wheels, { recursive: true });
  const hash = createHash('sha256').update(`${runner}\0${MOTO}\0`);
  for (const part of FIXTURE_PARTS) {
    await rm(join(context, part), { recursive: true, force: true });
    await cp(part, join(context, part), { recursive: true });
    for (const file of (await readdir(part, { recursive: true, withFileTypes: true })).filter(each => each.isFile()))
      hash.update(file.name).update(await readFile(join(file.parentPath, file.name)));
  }
  const image = `localhost/omicron-browser-fixtures:${hash.digest('hex').slice(0, 16)}`;
  if (await builder.exists(image)) return image;
  if ((await readdir(wheels)).length === 0)
    await run('python3', [
      '-m',
      'pip',
      'download',
      '-q',
      '--only-binary=:all:',
      '--python-version=3.11',
      '-d',
      wheels,
      MOTO,
    ]);
  await builder.build(image, context, 'cluster/fixtures/Dockerfile', { BASE: runner });
  log(`built    ${image}`);
  return image;
}
