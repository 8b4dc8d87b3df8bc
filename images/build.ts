import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Architecture } from '../contract/names.ts';
import { BASES, type Bases, baseOf } from './base.ts';
import type { Builder } from './builder.ts';
import { type BuildArgs, buildContext, HOST_ARCHITECTURE, type ImageName } from './context.ts';
import { sbomOf } from './sbom.ts';

export interface BuildOptions<Name extends ImageName> {
  readonly names: readonly Name[];
  /** Base image of all, instead of those that are locked by digest. */
  readonly base?: string;
  /** Architecture of all; this machine's unless given. */
  readonly architecture?: Architecture | undefined;
  /** Debian packages where browsers run, instead of those that the Dockerfiles name. */
  readonly runnerPackages?: string;
  readonly log: (line: string) => void;
}

/** Folder of contexts and SBOMs (`<image>-<tag>.cdx.json`). */
export const IMAGES_DIR = '.omicron/images';

const needsEmulator = (foreign: Architecture, cause: Error) =>
  new Error(
    `The image for ${foreign} was not built: ${cause.message} Commands of a Dockerfile run on a processor of its image: use a machine with one, or register an emulator (binfmt_misc, qemu-user-static).`,
    { cause },
  );

const imageName = (name: ImageName, tag: string) => `localhost/omicron-browser-${name}:${tag}`;

/** Arguments of each Dockerfile. Throws where a base has no digest, before anything is built. */
async function argsOf<Name extends ImageName>({
  names,
  base,
  runnerPackages,
}: Pick<BuildOptions<Name>, 'names' | 'base' | 'runnerPackages'>): Promise<readonly (readonly [Name, BuildArgs])[]> {
  const locked: Bases = JSON.parse(await readFile(BASES, 'utf8'));
  return names.map(name => {
    const packages = name === 'runner' || name === 'local' ? runnerPackages : undefined;
    return [
      name,
      { BASE: base ?? baseOf(name, locked), ...(packages === undefined ? {} : { PACKAGES: packages }) },
    ] as const;
  });
}

/** Builds the images that are not there yet; answers their names, each with its content as its tag. */
export async function buildImages<Name extends ImageName>(
  builder: Builder,
  { architecture = HOST_ARCHITECTURE, log, ...options }: BuildOptions<Name>,
): Promise<Readonly<Record<Name, string>>> {
  await mkdir(IMAGES_DIR, { recursive: true });
  const images: [Name, string][] = [];
  for (const [name, args] of await argsOf(options)) {
    const { path, tag } = await buildContext(name, IMAGES_DIR, args, architecture);
    const image = imageName(name, tag);
    images.push([name, image]);
    const sbomFile = join(IMAGES_DIR, `${name}-${tag}.cdx.json`);
    if ((await builder.exists(image)) && existsSync(sbomFile)) {
      log(`there    ${image}`);
      continue;
    }
    const foreign = architecture === HOST_ARCHITECTURE ? undefined : architecture;
    await builder.build(image, path, join(path, name, 'Dockerfile'), args, { foreign }).catch(error => {
      throw foreign ? needsEmulator(foreign, error) : error;
    });
    const sbom = await sbomOf(builder, image, path);
    await writeFile(sbomFile, JSON.stringify(sbom, null, 2));
    log(`built    ${image} (${sbom.components.length} packages in ${sbomFile})`);
  }
  return Object.fromEntries(images) as Record<Name, string>;
}

/** The image of the last build of {@link rebuildImages}. */
export const againName = (name: ImageName): string => imageName(name, 'again');

/** Folder of the contexts of images that are built again. */
const AGAIN_DIR = '.omicron/images-again';

/**
 * Builds images of this machine's architecture once more, from packages that are installed again and without a cache. Answers for each whether
 * it has the digest of the one that is there; if that one was built before Debian updated a package, whether two new ones have the same.
 */
export async function rebuildImages<Name extends ImageName>(
  builder: Builder,
  { log, ...options }: Omit<BuildOptions<Name>, 'architecture'>,
): Promise<Readonly<Record<Name, boolean>>> {
  const same: [Name, boolean][] = [];
  for (const [name, args] of await argsOf(options)) {
    const { tag } = await buildContext(name, IMAGES_DIR, args, HOST_ARCHITECTURE);
    const again = async () => {
      await rm(join(AGAIN_DIR, name), { recursive: true, force: true });
      const { path } = await buildContext(name, AGAIN_DIR, args, HOST_ARCHITECTURE);
      const image = againName(name);
      await builder.build(image, path, join(path, name, 'Dockerfile'), args, { uncached: true });
      return builder.digest(image);
    };
    const there = await builder.digest(imageName(name, tag));
    const second = await again();
    const first = there === second ? there : await again();
    log(first === second ? `same     ${name} ${first}` : `differs  ${name} ${first} ${second}`);
    same.push([name, first === second]);
  }
  await rm(AGAIN_DIR, { recursive: true, force: true });
  return Object.fromEntries(same) as Record<Name, boolean>;
}
