import { execFile } from 'node:child_process';
import { mkdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { newFolder, ROOT } from '../local/machine.ts';
import { type Installed, installed, installTarball, PUBLISHED, pack } from './install.ts';

// Measures what each way to use this repository installs from npm; `npm run sizes`. A clone holds what is committed.

const MB = 1_000_000;

interface Size {
  readonly what: string;
  readonly packages: number;
  readonly megabytes: number;
  /** Size of the package itself, as it is downloaded. */
  readonly tarballKilobytes?: number;
}

const sizeOf = (what: string, { packages, bytes }: Installed): Size => ({
  what,
  packages: packages.length,
  megabytes: Math.round(bytes / MB),
});

async function published(workspace: string, folder: string): Promise<Size> {
  const tarball = await pack(workspace, folder);
  const size = sizeOf(
    `npm install ${workspace}`,
    await installTarball(tarball, join(folder, workspace.replace('/', '-'))),
  );
  return { ...size, tarballKilobytes: Math.round((await stat(tarball)).size / 1_000) };
}

/** Installs in a clone what this kind of work needs (local/setup.js). */
async function cloned(what: string, work: string, clone: string): Promise<Size> {
  await execute('node', [join(clone, 'local', 'setup.js'), '--for', work]);
  return sizeOf(what, await installed(clone));
}

const execute = promisify(execFile);
const folder = await newFolder();
try {
  const sizes = [await published(PUBLISHED.sdk, folder), await published(PUBLISHED.cli, folder)];
  const clone = join(folder, 'clone');
  await execute('git', ['clone', '--quiet', ROOT, clone]);
  sizes.push(await cloned('npm run demo, npm start', 'stack', clone));
  sizes.push(await cloned('npm test', 'check', clone));
  console.table(sizes);
  await mkdir(join(ROOT, '.omicron'), { recursive: true });
  await writeFile(join(ROOT, '.omicron', 'sizes.json'), `${JSON.stringify(sizes, null, 2)}\n`);
} finally {
  await rm(folder, { recursive: true, force: true });
}
