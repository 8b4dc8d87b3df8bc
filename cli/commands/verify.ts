import { readFile, stat } from 'node:fs/promises';
import { type Command, Option } from 'commander';
import type { Cli } from '../connect.ts';
import { EXIT, UsageError } from '../exit.ts';
import manifest from '../package.json' with { type: 'json' };
import { RELEASE_PARTS, type ReleasePart } from '../verify/contents.ts';
import { folderSource } from '../verify/folder.ts';
import { registrySource } from '../verify/registry.ts';
import { readPublicKey } from '../verify/statement.ts';
import { verifyRelease } from '../verify/verify.ts';

const PARTS = Object.keys(RELEASE_PARTS) as ReleasePart[];

/** `verify`: whether a release is the one that was signed; asks a registry, or nothing but a folder. */
export function verifyCommand(program: Command, cli: Cli): void {
  program
    .command('verify')
    .description('verify signatures, provenance and SBOMs of a release: images, chart, manifests, packages')
    .argument('[version]', 'version of the release', manifest.version)
    .requiredOption('--from <place>', 'registry and path that hold the parts, or a folder (an OCI layout)')
    .requiredOption('--key <file>', 'public key of the publisher, in PEM')
    .addOption(new Option('--only <part...>', 'parts to verify (default: all)').choices(PARTS))
    .action((version: string, options: { from: string; key: string; only?: ReleasePart[] }) =>
      verify(cli, version, options),
    );
}

async function verify(
  cli: Cli,
  version: string,
  { from, key, only = PARTS }: { from: string; key: string; only?: ReleasePart[] },
) {
  const pem = await readFile(key, 'utf8').catch(() => {
    throw new UsageError(`--key ${key} cannot be read`);
  });
  const isFolder = await stat(from).then(
    found => found.isDirectory(),
    () => false,
  );
  const verdicts = await verifyRelease(isFolder ? folderSource(from) : registrySource(from), {
    version,
    key: readPublicKey(pem, key),
    parts: only,
  });
  cli.out.rows(
    { version, from, parts: verdicts },
    ['PART', 'RESULT', 'DIGEST', 'COMMIT'],
    verdicts.map(({ part, faults, digest, commit }) => [
      part,
      faults.length === 0 ? 'verified' : 'refused',
      digest ?? null,
      commit ?? null,
    ]),
  );
  for (const { part, faults } of verdicts) for (const fault of faults) cli.progress(`${part}: ${fault}`);
  if (verdicts.some(({ faults }) => faults.length > 0)) cli.exitCode = EXIT.failed;
}
