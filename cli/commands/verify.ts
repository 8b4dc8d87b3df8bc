import { readFile, stat } from 'node:fs/promises';
import { type Command, Option } from 'commander';
import type { Cli } from '../connect.ts';
import { EXIT, UsageError } from '../exit.ts';
import manifest from '../package.json' with { type: 'json' };
import { RELEASE_PARTS, type ReleasePart } from '../verify/contents.ts';
import { folderSource } from '../verify/folder.ts';
import {
  type CertifiedIdentity,
  identityPublisher,
  keyPublisher,
  type Publisher,
  readPublicKey,
} from '../verify/publisher.ts';
import { registrySource } from '../verify/registry.ts';
import { parseTrustedRoot, publicTrustedRoot } from '../verify/trusted-root.ts';
import { verifyRelease } from '../verify/verify.ts';

const PARTS = Object.keys(RELEASE_PARTS) as ReleasePart[];

/** `verify`: whether a release is the one that was signed; asks a registry, or nothing but a folder. */
export function verifyCommand(program: Command, cli: Cli): void {
  program
    .command('verify')
    .description('verify signatures, provenance and SBOMs of a release: images, chart, manifests, packages')
    .argument('[version]', 'version of the release', manifest.version)
    .requiredOption('--from <place>', 'registry and path that hold the parts, or a folder (an OCI layout)')
    .option('--key <file>', 'public key of the publisher, in PEM; or name the identity that signed')
    .option('--identity <name>', "the publisher's name in certificates, exactly, e.g. the address of a workflow")
    .option('--identity-regexp <pattern>', 'pattern that the whole name must match')
    .option('--issuer <url>', 'issuer of the token by which the publisher was known, with --identity')
    .option(
      '--trusted-root <file>',
      "trusted_root.json of a Sigstore of your own, or to be offline (default: Sigstore's)",
    )
    .addOption(new Option('--only <part...>', 'parts to verify (default: all)').choices(PARTS))
    .action((version: string, options: Options) => verify(cli, version, options));
}

interface PublisherOptions {
  readonly key?: string;
  readonly identity?: string;
  readonly identityRegexp?: string;
  readonly issuer?: string;
  readonly trustedRoot?: string;
}

interface Options extends PublisherOptions {
  readonly from: string;
  readonly only?: ReleasePart[];
}

async function verify(cli: Cli, version: string, { from, only = PARTS, ...by }: Options) {
  const publisher = await readPublisher(by);
  const isFolder = await stat(from).then(
    found => found.isDirectory(),
    () => false,
  );
  const verdicts = await verifyRelease(isFolder ? folderSource(from) : registrySource(from), {
    version,
    publisher,
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
  for (const step of new Set(verdicts.flatMap(({ steps }) => steps))) cli.progress(`next: ${step}`);
  if (verdicts.some(({ faults }) => faults.length > 0)) cli.exitCode = EXIT.failed;
}

const readFileOf = (option: string, file: string) =>
  readFile(file, 'utf8').catch(() => {
    throw new UsageError(`${option} ${file} cannot be read`);
  });

async function readPublisher({ key, trustedRoot, ...identity }: PublisherOptions): Promise<Publisher> {
  if (key !== undefined) {
    if (trustedRoot !== undefined || Object.keys(identity).length > 0)
      throw new UsageError(
        '--key is of a publisher without identity: leave out --identity, --issuer and --trusted-root',
      );
    return keyPublisher(readPublicKey(await readFileOf('--key', key), key));
  }
  const named = readIdentity(identity);
  if (trustedRoot === undefined) return identityPublisher(named, await publicTrustedRoot());
  const text = await readFileOf('--trusted-root', trustedRoot);
  try {
    return identityPublisher(named, parseTrustedRoot(text, trustedRoot));
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function readIdentity({ identity, identityRegexp, issuer }: PublisherOptions): CertifiedIdentity {
  if ((identity === undefined) === (identityRegexp === undefined))
    throw new UsageError('name the publisher by one of --key, --identity and --identity-regexp');
  if (issuer === undefined)
    throw new UsageError(
      'name the issuer of the identity by --issuer, e.g. https://token.actions.githubusercontent.com',
    );
  if (!/^https?:$/.test(URL.parse(issuer)?.protocol ?? ''))
    throw new UsageError(`--issuer ${issuer} is no URL, e.g. https://token.actions.githubusercontent.com`);
  if (identityRegexp === undefined) return { name: identity ?? '', issuer };
  try {
    new RegExp(identityRegexp, 'u'); // by itself: within the brackets below it could mean something else
    return { name: new RegExp(`^(?:${identityRegexp})$`, 'u'), issuer };
  } catch (error) {
    throw new UsageError(`--identity-regexp ${identityRegexp}: ${error instanceof Error ? error.message : error}`);
  }
}
