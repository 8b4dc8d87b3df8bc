import type { RunnerBrowser } from './browser/browser.ts';
import type { ContextOptions } from './browser/context-options.ts';
import type { RunnerParts } from './lease/options.ts';

export interface RunnerDependencies extends RunnerParts {
  readonly runnerId: string;
  /** With a folder, the browser keeps there what sites store. */
  readonly launch: (userDataDir?: string, context?: ContextOptions) => Promise<RunnerBrowser>;
  /** Runs before the runner is warm; when it fails, the runner is only slower. */
  readonly warmUp: (browser: RunnerBrowser) => Promise<void>;
  readonly filesDir: string;
  /** A place for the files of a profile. */
  readonly profileDir: string;
}
