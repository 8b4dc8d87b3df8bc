import type { PageOptions } from '../contract/page-options.ts';
import { OmicronError } from '../contract/problem.ts';
import type { RunnerBrowser } from './browser/browser.ts';
import { type ContextOptions, contextOptions } from './browser/context-options.ts';
import { guardPages } from './browser/page-guard.ts';
import { type BrowserWork, browserWork } from './calls/browser-work.ts';
import type { RunnerDependencies } from './runner-dependencies.ts';

/** The browser of a runner: one at a time, and another one for a lease whose profile needs its own folder. */
export interface OwnBrowser {
  readonly browser: RunnerBrowser | undefined;
  readonly work: BrowserWork | undefined;
  /** Launches the browser, and runs once all that the first call of an agent needs. */
  launch(): Promise<void>;
  /** Gives pages what the lease asks for: a warm browser has its context already, so that another one takes its place. */
  adapt(options: PageOptions): Promise<void>;
  /** A browser takes its folder when it is launched, so that a complete profile needs another one than the warm one. */
  restart(userDataDir: string, prepare: (browser: RunnerBrowser) => Promise<void>): Promise<RunnerBrowser>;
}

interface OwnBrowserOptions extends Pick<RunnerDependencies, 'launch' | 'warmUp' | 'filesDir' | 'log'> {
  /** Called when the browser ended, unless another one has replaced it. */
  readonly onGone: (browser: RunnerBrowser) => void;
  /** Aborts with the runner's end. */
  readonly signal: AbortSignal;
}

export function ownBrowser({ launch, warmUp, filesDir, log, onGone, signal }: OwnBrowserOptions): OwnBrowser {
  let browser: RunnerBrowser | undefined;
  let work: BrowserWork | undefined;
  let adapted: ContextOptions | undefined;

  function watch(launched: RunnerBrowser): void {
    void launched.gone.then(() => {
      if (launched === browser) onGone(launched);
    });
  }

  const workIn = (launched: RunnerBrowser): Promise<BrowserWork> =>
    browserWork({ browser: launched, guard: guardPages(launched, what => log.warn(what)), filesDir });

  return {
    get browser() {
      return browser;
    },
    get work() {
      return work;
    },
    async launch() {
      browser = await launch();
      await warmUp(browser).catch((error: unknown) => log.warn({ err: error }, 'warm-up failed'));
      work = await workIn(browser);
      watch(browser);
    },
    async adapt(options) {
      const warm = browser;
      if (warm === undefined) return;
      try {
        adapted = contextOptions(options, await warm.userAgent());
        await warm.replaceContext(adapted);
      } catch (cause) {
        throw new OmicronError('runner_start_failed', 'The browser does not take the options of its pages.', { cause });
      }
      work = await workIn(warm);
    },
    async restart(userDataDir, prepare) {
      const warm = browser;
      browser = undefined; // its end is no crash
      const closed = warm?.close();
      const launched = await launch(userDataDir, adapted);
      browser = launched;
      watch(launched);
      if (signal.aborted) await launched.close();
      await prepare(launched);
      work = await workIn(launched);
      await closed;
      return launched;
    },
  };
}
