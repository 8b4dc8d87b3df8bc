import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Command } from 'commander';
import { buildImages } from './build.ts';
import { findBuilder } from './builder.ts';
import { IMAGES } from './context.ts';

const REPOSITORY_OUTPUTS = {
  controller: 'controllerRepositoryUrl',
  runner: 'runnerRepositoryUrl',
  egress: 'egressRepositoryUrl',
} as const;
const DIGESTS = 'manifests/images.json';

const command = new Command('images')
  .description('builds the images of controller, runner and egress proxy; tags them by their content')
  .option('--base <image>', 'base of all three, instead of the one that each Dockerfile names')
  .option('--push <environment>', `pushes to the registry of dev or prod and writes the digests into ${DIGESTS}`)
  .parse();
const options = command.opts<{ base?: string; push?: string }>();

const builder = await findBuilder(process.env);
const images = await buildImages(builder, { ...(options.base ? { base: options.base } : {}), log: console.log });

if (options.push !== undefined) {
  const digests = JSON.parse(await readFile(DIGESTS, 'utf8'));
  if (!(options.push in digests)) command.error(`--push: ${DIGESTS} has no environment "${options.push}"`);
  const outputs = JSON.parse(await readFile(join('manifests/outputs', `${options.push}.json`), 'utf8'));
  for (const name of IMAGES) {
    const image = images[name];
    const to = `${outputs[REPOSITORY_OUTPUTS[name]]}:${image.slice(image.lastIndexOf(':') + 1)}`;
    digests[options.push][name] = await builder.push(image, to);
    console.log(`pushed ${to}`);
  }
  await writeFile(DIGESTS, `${JSON.stringify(digests, null, 2)}\n`);
  console.log('Run "npm run manifests" and commit what changed.');
}
