import { Command, Option } from 'commander';
import { pythonOf } from '../local/test-tools.ts';
import { bundleCommand, dryRunCommand, pushCommand, signCommand } from './oci/commands.ts';
import { publish } from './publish.ts';
import { readVersion, setVersion } from './version.ts';

const program = new Command('release')
  .description('version, catalogue entries and packages')
  .enablePositionalOptions() // `publish` has a --dry-run of its own
  .option(
    '--dry-run',
    'make chart, manifests and packages twice, sign, push and verify them on this machine alone; print the result',
  )
  .action(async ({ dryRun = false }: { dryRun?: boolean }) => {
    if (!dryRun) program.help({ error: true });
    await dryRunCommand();
  });
program
  .command('version')
  .description('write a version wherever it stands (default: the current one, after a change of the catalogue)')
  .argument('[version]', 'e.g. 0.2.0')
  .action(async (wanted?: string) => setVersion(wanted ?? (await readVersion())));
program
  .command('publish')
  .description('publish the npm packages, the wheel and the entry of the MCP registry')
  .option('--dry-run', 'build and check everything, send nothing')
  .option('--names-are-reserved', 'the names that it lists without this option are ours')
  .option('--without-provenance', 'publish from a job of CI that has no identity')
  .option('--python <path>', 'Python with pip, hatchling and twine')
  .action(({ dryRun = false, namesAreReserved = false, withoutProvenance: isUnattested = false, python }) =>
    publish({
      dryRun,
      namesAreReserved,
      isUnattested,
      environment: process.env,
      python: python ?? pythonOf(process.cwd(), 'python_sdk'),
      log: line => console.log(line),
    }),
  );
program
  .command('bundle')
  .description('write chart, manifests and packages into a folder, as an OCI layout')
  .argument('<folder>')
  .action(bundleCommand);
program
  .command('sign')
  .description('sign what is in the folder, images that were added too; attest its provenance and SBOM')
  .argument('<folder>')
  .option('--key <file>', 'private key, EC in PEM; its passphrase is in OMICRON_KEY_PASSPHRASE')
  .option('--identity-token <file>', 'token of OpenID Connect to sign without a key (default: that of the job of CI)')
  .option('--fulcio <url>', "authority that certifies the identity (default: Sigstore's, with its --rekor)")
  .option('--rekor <url>', 'transparency log, with --fulcio')
  .addOption(new Option('--rekor-version <number>', 'version of its API (default: 1)').choices(['1', '2']))
  .option('--timestamp-authority <url>', 'authority that proves when it was signed, with --fulcio')
  .option('--sbom <part=file...>', 'CycloneDX document of an image, such as runner=.omicron/images/runner.cdx.json', [])
  .action(signCommand);
program
  .command('push')
  .description('push what is in the folder to a registry, with signatures and attestations')
  .argument('<folder>')
  .argument('<registry>', 'registry and path, e.g. registry.example.com/omicron-browser')
  .action(pushCommand);
await program.parseAsync().catch((error: Error) => program.error(error.message));
