import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Architecture } from '../contract/names.ts';
import { BASES, type Bases, baseOf } from './base.ts';
import type { Builder } from './builder.ts';
import { buildContext, HOST_ARCHITECTURE, type ImageName } from './context.ts';
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

/** Builds the images that are not there yet; answers their names, each with its content as its tag. */
export async function buildImages<Name extends ImageName>(
  builder: Builder,
  { names, base, architecture = HOST_ARCHITECTURE, runnerPackages, log }: BuildOptions<Name>,
): Promise<Readonly<Record<Name, string>>> {
  await mkdir(IMAGES_DIR, { recursive: true });
  const locked: Bases = JSON.parse(await readFile(BASES, 'utf8'));
  const bases = names.map(name => [name, base ?? baseOf(name, locked)] as const);
  const images: [Name, string][] = [];
  for (const [name, BASE] of bases) {
    const args = {
      BASE,
      ...((name === 'runner' || name === 'local') && runnerPackages !== undefined ? { PACKAGES: runnerPackages } : {}),
    };
    const { path, tag } = await buildContext(name, IMAGES_DIR, args, architecture);
    const image = `localhost/omicron-browser-${name}:${tag}`;
    images.push([name, image]);
    const sbomFile = join(IMAGES_DIR, `${name}-${tag}.cdx.json`);
    if ((await builder.exists(image)) && existsSync(sbomFile)) {
      log(`there    ${image}`);
      continue;
    }
    const foreign = architecture === HOST_ARCHITECTURE ? undefined : architecture;
    await builder.build(image, path, join(path, name, 'Dockerfile'), args, foreign).catch(error => {
      throw foreign ? needsEmulator(foreign, error) : error;
    });
    const sbom = await sbomOf(builder, image, path);
    await writeFile(sbomFile, JSON.stringify(sbom, null, 2));
    log(`built    ${image} (${sbom.components.length} packages in ${sbomFile})`);
  }
  return Object.fromEntries(images) as Record<Name, string>;
}
