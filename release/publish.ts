import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { digestOf } from '../cli/verify/contents.ts';
import { NAMES_TO_RESERVE, NPM_PACKAGES, packArguments } from './catalogue.ts';
import { npmProvenance } from './provenance.ts';
import { findFaults } from './version.ts';

const ROOT = join(import.meta.dirname, '..');
const PYTHON_PACKAGE = join(ROOT, 'clients', 'python');

export interface PublishOptions {
  /** Builds and checks everything, and sends nothing. */
  readonly dryRun: boolean;
  /** The names of NAMES_TO_RESERVE are ours. */
  readonly namesAreReserved: boolean;
  /** In a job of CI without an identity, packages are published without provenance instead of not at all. */
  readonly isUnattested: boolean;
  /** Decides whether npm can attest where a package was built. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** A Python that has pip, hatchling and, to publish, twine. */
  readonly python: string;
  readonly log: (line: string) => void;
}

/**
 * Publishes both npm packages, the wheel and the entry of the MCP registry, in the order in which each needs the one
 * before. Packages that were published before a failure stay: raise the version and run it again. Throws where a step
 * fails.
 */
export async function publish(options: PublishOptions): Promise<void> {
  const { dryRun, namesAreReserved, environment, isUnattested, python, log } = options;
  if (!dryRun && !namesAreReserved)
    throw new Error(
      `these names must be reserved first; then add --names-are-reserved:\n${NAMES_TO_RESERVE.map(name => `  ${name}`).join('\n')}`,
    );
  const found = await findFaults();
  if (found.length > 0)
    throw new Error(`not ready:\n${found.join('\n')}\n"npm run release -- version X" writes the version`);
  const provenance = npmProvenance(environment, isUnattested);
  const folder = mkdtempSync(join(tmpdir(), 'omicron-release-'));
  try {
    for (const workspace of NPM_PACKAGES) {
      const name = run('npm', packArguments(workspace, folder), ROOT).trim();
      log(`built ${workspace}, ${digestOf(readFileSync(join(folder, name)))}`);
    }
    run(
      python,
      ['-m', 'pip', 'wheel', '--quiet', '--no-deps', '--no-build-isolation', '--wheel-dir', folder, PYTHON_PACKAGE],
      folder,
    );
    log('built the wheel');
    const files = readdirSync(folder).map(name => join(folder, name));
    const tarballs = files.filter(path => path.endsWith('.tgz'));
    const wheels = files.filter(path => path.endsWith('.whl'));
    log(provenance.says);
    const how = dryRun ? ['--dry-run'] : provenance.args;
    // Packages of a scope are private unless they say otherwise.
    for (const tarball of tarballs)
      send('npm', ['publish', tarball, '--access', 'public', '--loglevel=error', ...how], ROOT, log);
    if (dryRun) log(`would upload ${wheels.length} wheel by twine, and release/server.json by mcp-publisher`);
    else {
      send(python, ['-m', 'twine', 'upload', '--non-interactive', ...wheels], folder, log);
      send('mcp-publisher', ['publish'], join(ROOT, 'release'), log);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function send(command: string, args: readonly string[], cwd: string, log: (line: string) => void): void {
  log(run(command, args, cwd).trim());
}

function run(command: string, args: readonly string[], cwd: string): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, encoding: 'utf8' });
  if (status === 0) return `${stdout}${stderr}`;
  throw new Error(`${command} ${args.slice(0, 2).join(' ')} failed: ${error?.message ?? stderr}`);
}
