import { execFileSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { RELEASE_PARTS, type ReleasePart } from '../../cli/verify/contents.ts';
import { REPOSITORY } from '../catalogue.ts';
import { dryRun, dryRunFaults } from '../dry-run.ts';
import { readVersion } from '../version.ts';
import { bundleRelease, packagesSbom, packPackages } from './bundle.ts';
import { openLayout } from './layout.ts';
import { pushRelease } from './push.ts';
import { readPrivateKey, signRelease } from './sign.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const git = (...args: string[]) => execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim();

/** `release bundle`. */
export async function bundleCommand(folder: string): Promise<void> {
  const version = await readVersion();
  await bundleRelease(await openLayout(folder), { version, packages: await packPackages() });
  console.log(`wrote chart, manifests and packages of ${version} into ${folder}`);
}

/** `release sign`. */
export async function signCommand(
  folder: string,
  { key, sbom }: { key: string; sbom: readonly string[] },
): Promise<void> {
  // the provenance names a commit, which must be what was built
  if (git('status', '--porcelain') !== '')
    throw new Error('commit your changes first: the provenance names the commit');
  const sboms: Partial<Record<ReleasePart, unknown>> = { packages: await packagesSbom() };
  for (const each of sbom) {
    const [part = '', file = ''] = each.split('=');
    if (!(part in RELEASE_PARTS)) throw new Error(`--sbom ${each}: "${part}" is no part of a release`);
    sboms[part as ReleasePart] = JSON.parse(await readFile(file, 'utf8'));
  }
  const { GITHUB_SERVER_URL, GITHUB_REPOSITORY, GITHUB_RUN_ID, OMICRON_KEY_PASSPHRASE } = process.env;
  const signed = await signRelease(await openLayout(folder), {
    version: await readVersion(),
    key: readPrivateKey(await readFile(key, 'utf8'), key, OMICRON_KEY_PASSPHRASE),
    commit: git('rev-parse', 'HEAD'),
    builder: GITHUB_RUN_ID ? `${GITHUB_SERVER_URL}/${GITHUB_REPOSITORY}/actions/runs/${GITHUB_RUN_ID}` : REPOSITORY,
    sboms,
  });
  console.log(`signed ${signed.join(', ')}`);
}

/** `release --dry-run`. Throws where a part is not as it should be. */
export async function dryRunCommand(): Promise<void> {
  const result = await dryRun(git('rev-parse', 'HEAD'));
  console.log(JSON.stringify(result, null, 2));
  const faults = dryRunFaults(result);
  if (faults.length > 0) throw new Error(`the release is not sound:\n${faults.join('\n')}`);
}

/** `release push`. */
export async function pushCommand(folder: string, registry: string): Promise<void> {
  for (const reference of await pushRelease(await openLayout(folder), registry)) console.log(`pushed ${reference}`);
}
