import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RUNNER_PROFILE_FOLDER, runnerTempName } from '../../contract/names.ts';
import { letBrowsersEnd } from '../../process/leftover-browsers.ts';

/** Prefix of all their names. */
const PREFIX = runnerTempName('');
const OWNER_FILE = 'runner.pid';

/**
 * The one folder for everything a runner keeps on disk besides its recording. Its name follows from the runner's id
 * alone, so that the process that kills a runner can delete what it left.
 */
export const runnerTempDir = (runnerId: string): string => join(tmpdir(), runnerTempName(runnerId));

export interface TempDir {
  readonly path: string;
  /** Working directory of the process: the only folder whose files Playwright MCP lets an agent upload. */
  readonly files: string;
  /** For a browser that keeps its files, and for what is made of them. */
  readonly profile: string;
  remove(): void;
}

/**
 * Creates the runner's folder, enterable by the browser's user; fails where it exists. Deletes the folders of runners
 * of this machine that were killed before they could.
 */
export function createTempDir(runnerId: string): TempDir {
  for (const name of readdirSync(tmpdir())) if (name.startsWith(PREFIX)) removeIfOrphan(join(tmpdir(), name));
  const path = runnerTempDir(runnerId);
  mkdirSync(path, { mode: 0o711 });
  writeFileSync(join(path, OWNER_FILE), String(process.pid), { mode: 0o600 });
  const files = join(path, 'files');
  mkdirSync(files, { mode: 0o711 });
  const profile = join(path, RUNNER_PROFILE_FOLDER);
  mkdirSync(profile, { mode: 0o711 });
  return { path, files, profile, remove: () => remove(path) };
}

const remove = (path: string): void => rmSync(path, { recursive: true, force: true, maxRetries: 3 });

/** A process id that is in use again by something else only postpones it. */
function removeIfOrphan(path: string): void {
  try {
    process.kill(Number(readFileSync(join(path, OWNER_FILE), 'utf8')) || process.pid, 0);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) return;
    letBrowsersEnd(path);
    try {
      remove(path);
    } catch {
      // another user's, or still written to by a browser that ends: the next runner tries again
    }
  }
}
