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
import { signRelease } from './sign.ts';
import { readSigner, type SignerOptions } from './signer-options.ts';

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
  { sbom, ...by }: { sbom: readonly string[] } & SignerOptions,
): Promise<void> {
  const signer = await readSigner(by, process.env);
  // the provenance names a commit, which must be what was built
  if (git('status', '--porcelain') !== '')
    throw new Error('commit your changes first: the provenance names the commit');
  const sboms: Partial<Record<ReleasePart, unknown>> = { packages: await packagesSbom() };
  for (const each of sbom) {
    const [part = '', file = ''] = each.split('=');
    if (!(part in RELEASE_PARTS)) throw new Error(`--sbom ${each}: "${part}" is no part of a release`);
    sboms[part as ReleasePart] = JSON.parse(await readFile(file, 'utf8'));
  }
  const signed = await signRelease(await openLayout(folder), {
    version: await readVersion(),
    signer,
    commit: git('rev-parse', 'HEAD'),
    builder: jobAddress(process.env) ?? REPOSITORY,
    sboms,
  });
  console.log(`signed ${signed.join(', ')}`);
}

/** Address of the job of GitHub or GitLab in which this runs. */
function jobAddress({ GITHUB_SERVER_URL, GITHUB_REPOSITORY, GITHUB_RUN_ID, CI_JOB_URL }: NodeJS.ProcessEnv) {
  return GITHUB_RUN_ID ? `${GITHUB_SERVER_URL}/${GITHUB_REPOSITORY}/actions/runs/${GITHUB_RUN_ID}` : CI_JOB_URL;
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
