import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BASES, type Bases, baseOf } from './base.ts';
import type { Builder } from './builder.ts';
import { buildContext, type ImageName } from './context.ts';
import { sbomOf } from './sbom.ts';

export interface BuildOptions<Name extends ImageName> {
  readonly names: readonly Name[];
  /** Base image of all, instead of those that are locked by digest. */
  readonly base?: string;
  /** Debian packages where browsers run, instead of those that the Dockerfiles name. */
  readonly runnerPackages?: string;
  readonly log: (line: string) => void;
}

/** Folder of contexts and SBOMs (`<image>-<tag>.cdx.json`). */
export const IMAGES_DIR = '.omicron/images';

/** Builds the images that are not there yet; answers their names, each with its content as its tag. */
export async function buildImages<Name extends ImageName>(
  builder: Builder,
  { names, base, runnerPackages, log }: BuildOptions<Name>,
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
    const { path, tag } = await buildContext(name, IMAGES_DIR, args);
    const image = `localhost/omicron-browser-${name}:${tag}`;
    images.push([name, image]);
    const sbomFile = join(IMAGES_DIR, `${name}-${tag}.cdx.json`);
    if ((await builder.exists(image)) && existsSync(sbomFile)) {
      log(`there    ${image}`);
      continue;
    }
    await builder.build(image, path, join(path, name, 'Dockerfile'), args);
    const sbom = await sbomOf(builder, image, path);
    await writeFile(sbomFile, JSON.stringify(sbom, null, 2));
    log(`built    ${image} (${sbom.components.length} packages in ${sbomFile})`);
  }
  return Object.fromEntries(images) as Record<Name, string>;
}
