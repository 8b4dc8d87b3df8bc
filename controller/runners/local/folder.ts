import { existsSync } from 'node:fs';
import { mkdir, open, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import type { ProcessId } from './process.ts';

const processFile = z.object({ pid: z.int(), startTicks: z.string().nullable() });

/** Files of one local runner: its process, port, log and recording. Removed whole when the runner is gone. */
export class RunnerFolder {
  readonly path: string;

  constructor(root: string, runnerId: string) {
    this.path = join(root, runnerId);
  }

  get output(): string {
    return join(this.path, 'output');
  }
  get portFile(): string {
    return join(this.path, 'port');
  }
  get logFile(): string {
    return join(this.path, 'runner.log');
  }
  get exists(): boolean {
    return existsSync(this.path);
  }

  /** False: it exists already. */
  async make(): Promise<boolean> {
    try {
      await mkdir(this.path, { mode: 0o700 });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
      throw error;
    }
    await mkdir(this.output, { mode: 0o700 });
    return true;
  }

  async writeProcess(id: ProcessId): Promise<void> {
    const path = join(this.path, 'process.json');
    await writeFile(`${path}.new`, JSON.stringify(id));
    await rename(`${path}.new`, path);
  }

  /**
   * Null: it was never started, or its start was interrupted. Any other fault is thrown: it does not say whether the
   * process runs.
   */
  readProcess = async (): Promise<ProcessId | null> => {
    try {
      return processFile.parse(JSON.parse(await readFile(join(this.path, 'process.json'), 'utf8')));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
      throw error;
    }
  };

  #remoteBrowserFile = () => join(this.path, 'remote-browser');

  writeRemoteBrowser = (id: string) => writeFile(this.#remoteBrowserFile(), id, { mode: 0o600 });

  /** The id of the browser elsewhere that its runner drives; null: it has none. */
  readRemoteBrowser = (): Promise<string | null> =>
    readFile(this.#remoteBrowserFile(), 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return null;
      throw error;
    });

  /** Null: it does not listen yet. */
  readPort = async (): Promise<number | null> =>
    readFile(this.portFile, 'utf8').then(
      text => z.coerce.number().int().min(1).max(65_535).parse(text),
      () => null,
    );

  /** The last lines of its log. */
  async lastLines(count: number): Promise<string> {
    const text = await readFile(this.logFile, 'utf8').catch(() => '');
    return text.trimEnd().split('\n').slice(-count).join('\n');
  }

  openLog = () => open(this.logFile, 'a', 0o600);

  remove = () => rm(this.path, { recursive: true, force: true });

  static async list(root: string): Promise<string[]> {
    const names = await readdir(root).catch(() => []);
    return names.filter(name => z.uuid().safeParse(name).success);
  }
}
