import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Command, Option } from 'commander';
import { ARCHITECTURES, type Architecture } from '../contract/names.ts';
import { BASES, pinBases, requireDigest } from './base.ts';
import { buildImages, rebuildImages } from './build.ts';
import { type Builder, findBuilder } from './builder.ts';
import { CLUSTER_IMAGES, IMAGES, type ImageName } from './context.ts';

const REPOSITORY_OUTPUTS = {
  controller: 'controllerRepositoryUrl',
  runner: 'runnerRepositoryUrl',
  egress: 'egressRepositoryUrl',
  console: 'consoleRepositoryUrl',
} as const;
const DIGESTS = 'manifests/images.json';

const command = new Command('images')
  .description('builds the images of a cluster, and one with the local stack; tags them by their content')
  .option('--base <image>', `base of all, instead of those in ${BASES}`)
  .option(
    '--push <environment>',
    `pushes a cluster's to the registry of dev or prod and writes the digests into ${DIGESTS}`,
  )
  .addOption(
    new Option('--architecture <name>', "architecture of the images (default: this machine's)").choices(ARCHITECTURES),
  )
  .addOption(
    new Option(
      '--only <names...>',
      'images to build: the runner alone where browser nodes are of another architecture',
    ).choices(IMAGES),
  )
  .option('--twice', 'builds each once more, and fails where one has another digest')
  .option('--pin', `writes the digests that the tags of the bases have now into ${BASES}, and builds nothing`)
  .parse();
const options = command.opts<{
  base?: string;
  push?: string;
  architecture?: Architecture;
  only?: ImageName[];
  twice?: true;
  pin?: true;
}>();

const readJson = async (path: string) => JSON.parse(await readFile(path, 'utf8'));
const write = (path: string, content: unknown) => writeFile(path, `${JSON.stringify(content, null, 2)}\n`);

type ClusterImages = Readonly<Partial<Record<(typeof CLUSTER_IMAGES)[number], string>>>;

async function push(builder: Builder, images: ClusterImages, environment: string): Promise<void> {
  const digests = await readJson(DIGESTS);
  const outputs = await readJson(join('manifests/outputs', `${environment}.json`));
  for (const name of CLUSTER_IMAGES) {
    const image = images[name];
    if (image === undefined) continue;
    const to = `${outputs[REPOSITORY_OUTPUTS[name]]}:${image.slice(image.lastIndexOf(':') + 1)}`;
    digests[environment][name] = await builder.push(image, to);
    console.log(`pushed ${to}`);
  }
  await write(DIGESTS, digests);
  console.log('Run "npm run manifests" and commit what changed.');
}

async function main(): Promise<void> {
  const { base, architecture, push: environment, only = IMAGES } = options;
  if (environment !== undefined && !(environment in (await readJson(DIGESTS))))
    throw new Error(`--push: ${DIGESTS} has no environment "${environment}"`);
  if (environment !== undefined && base !== undefined) requireDigest(base);
  const builder = await findBuilder(process.env);
  if (options.pin) {
    await write(BASES, await pinBases(builder, await readJson(BASES)));
    console.log(`Wrote ${BASES}. Build and try the images, then commit it.`);
    return;
  }
  const how = { ...(base ? { base } : {}), architecture, log: console.log };
  if (options.twice) {
    if (architecture !== undefined) throw new Error('--twice builds for this machine alone: leave --architecture out');
    await buildImages(builder, { names: only, ...how });
    const same = await rebuildImages(builder, { names: only, ...how });
    const different = only.filter(name => !same[name]);
    if (different.length > 0) throw new Error(`another digest when built again: ${different.join(', ')}`);
  } else if (environment === undefined) await buildImages(builder, { names: only, ...how });
  else {
    const names = CLUSTER_IMAGES.filter(name => only.includes(name));
    await push(builder, await buildImages(builder, { names, ...how }), environment);
  }
}

await main().catch(error => command.error(error.message));
