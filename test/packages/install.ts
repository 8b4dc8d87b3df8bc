import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ROOT, run } from '../local/machine.ts';

/** Workspaces that are published. */
export const PUBLISHED = { sdk: 'omicron-browser', cli: '@omicron-browser/cli' } as const;

/** Unit of `stat.blocks`. */
const BLOCK_BYTES = 512;

/** The content of node_modules after an installation. */
export interface Installed {
  /** Names, each as often as it was installed. */
  readonly packages: readonly string[];
  /** On the disk. */
  readonly bytes: number;
}

/** `npm pack` of a workspace; answers the tarball's path. */
export async function pack(workspace: string, folder: string): Promise<string> {
  const args = ['pack', '--silent', '--workspace', workspace, '--pack-destination', folder];
  const packed = await run('npm', args, { cwd: ROOT });
  if (packed.code !== 0) throw new Error(`npm pack of ${workspace} failed: ${packed.stderr}`);
  return join(folder, packed.stdout.trim());
}

/** `npm install` of a tarball in a new folder. */
export async function installTarball(tarball: string, folder: string): Promise<Installed> {
  await mkdir(folder);
  await writeFile(join(folder, 'package.json'), '{ "private": true }');
  await npm(['install', '--prefer-offline', tarball], folder);
  return installed(folder);
}

/** Runs npm in a folder. */
export async function npm(args: string[], folder: string): Promise<void> {
  const { code, stderr } = await run('npm', [...args, '--no-audit', '--no-fund', '--loglevel=error'], { cwd: folder });
  if (code !== 0) throw new Error(`npm ${args.join(' ')} failed: ${stderr}`);
}

/** Packages and bytes of a folder's node_modules. Links to workspaces do not count: they are the clone itself. */
export async function installed(folder: string): Promise<Installed> {
  const modules = join(folder, 'node_modules');
  const lock = JSON.parse(await readFile(join(modules, '.package-lock.json'), 'utf8'));
  const packages = Object.entries<{ link?: boolean }>(lock.packages)
    .filter(([path, { link }]) => path.startsWith('node_modules/') && !link)
    .map(([path]) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length));
  const entries = await readdir(modules, { recursive: true, withFileTypes: true });
  const files = entries.filter(entry => entry.isFile());
  const found = await Promise.all(files.map(file => stat(join(file.parentPath, file.name))));
  // as du counts: blocks, and a file with several names once
  const blocks = new Map(found.map(({ ino, blocks }) => [ino, blocks]));
  return { packages, bytes: [...blocks.values()].reduce((sum, count) => sum + count, 0) * BLOCK_BYTES };
}
