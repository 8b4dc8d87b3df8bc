import { mkdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * The one folder for everything a runner keeps on disk besides its recording. Its name follows from the runner's id
 * alone, so that whoever kills a runner can delete what it left.
 */
export const runnerTempDir = (runnerId: string): string => join(tmpdir(), `omicron-runner-${runnerId}`);

export interface TempDir {
  readonly path: string;
  /** Working directory of the process: the only folder whose files Playwright MCP lets an agent upload. */
  readonly files: string;
  remove(): void;
}

/** Creates the runner's folder, enterable by the browser's user; fails where it exists. */
export function createTempDir(runnerId: string): TempDir {
  const path = runnerTempDir(runnerId);
  mkdirSync(path, { mode: 0o711 });
  const files = join(path, 'files');
  mkdirSync(files, { mode: 0o700 });
  return {
    path,
    files,
    remove() {
      rmSync(path, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}
