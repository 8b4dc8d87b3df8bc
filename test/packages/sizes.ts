import { mkdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { newFolder, ROOT, run } from '../local/machine.ts';
import { type Installed, installed, installTarball, PUBLISHED, pack } from './install.ts';

// Measures what each way to use this repository installs from npm; `npm run sizes`. A clone holds what is committed.

const MB = 1_000_000;

interface Size {
  readonly what: string;
  readonly packages: number;
  readonly megabytes: number;
  /** Of the package itself, as it is downloaded. */
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
  const { code, stderr } = await run('node', [join(clone, 'local', 'setup.js'), '--for', work], { cwd: clone });
  if (code !== 0) throw new Error(stderr);
  return sizeOf(what, await installed(clone));
}

const folder = await newFolder();
try {
  const sizes = [await published(PUBLISHED.sdk, folder), await published(PUBLISHED.cli, folder)];
  const clone = join(folder, 'clone');
  const { code, stderr } = await run('git', ['clone', '--quiet', ROOT, clone]);
  if (code !== 0) throw new Error(stderr);
  sizes.push(await cloned('npm run demo, npm start', 'stack', clone));
  sizes.push(await cloned('npm test', 'check', clone));
  console.table(sizes);
  await mkdir(join(ROOT, '.omicron'), { recursive: true });
  await writeFile(join(ROOT, '.omicron', 'sizes.json'), `${JSON.stringify(sizes, null, 2)}\n`);
} finally {
  await rm(folder, { recursive: true, force: true });
}
