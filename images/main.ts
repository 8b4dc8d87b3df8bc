import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Command } from 'commander';
import { BASES, pinBases, requireDigest } from './base.ts';
import { buildImages } from './build.ts';
import { type Builder, findBuilder } from './builder.ts';
import { CLUSTER_IMAGES, IMAGES } from './context.ts';

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
  .option('--pin', `writes the digests that the tags of the bases have now into ${BASES}, and builds nothing`)
  .parse();
const options = command.opts<{ base?: string; push?: string; pin?: true }>();

const readJson = async (path: string) => JSON.parse(await readFile(path, 'utf8'));
const write = (path: string, content: unknown) => writeFile(path, `${JSON.stringify(content, null, 2)}\n`);

type ClusterImages = Readonly<Record<(typeof CLUSTER_IMAGES)[number], string>>;

async function push(builder: Builder, images: ClusterImages, environment: string): Promise<void> {
  const digests = await readJson(DIGESTS);
  const outputs = await readJson(join('manifests/outputs', `${environment}.json`));
  for (const name of CLUSTER_IMAGES) {
    const image = images[name];
    const to = `${outputs[REPOSITORY_OUTPUTS[name]]}:${image.slice(image.lastIndexOf(':') + 1)}`;
    digests[environment][name] = await builder.push(image, to);
    console.log(`pushed ${to}`);
  }
  await write(DIGESTS, digests);
  console.log('Run "npm run manifests" and commit what changed.');
}

async function main(): Promise<void> {
  const { base, push: environment } = options;
  if (environment !== undefined && !(environment in (await readJson(DIGESTS))))
    throw new Error(`--push: ${DIGESTS} has no environment "${environment}"`);
  if (environment !== undefined && base !== undefined) requireDigest(base);
  const builder = await findBuilder(process.env);
  if (options.pin) {
    await write(BASES, await pinBases(builder, await readJson(BASES)));
    console.log(`Wrote ${BASES}. Build and try the images, then commit it.`);
    return;
  }
  const how = { ...(base ? { base } : {}), log: console.log };
  if (environment === undefined) await buildImages(builder, { names: IMAGES, ...how });
  else await push(builder, await buildImages(builder, { names: CLUSTER_IMAGES, ...how }), environment);
}

await main().catch(error => command.error(error.message));
