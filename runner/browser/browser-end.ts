import { setTimeout as delay } from 'node:timers/promises';

/** How a browser ended, for logs and the timeline. No text of a page is in it. */
export interface BrowserEnd {
  /** Its signal, e.g. `SIGSEGV`, or `code 1`; undefined: its process has not exited, or is not one of this machine. */
  readonly exit: string | undefined;
  /** Tabs and renderers that the guards of memory and traffic stopped before, and why; the oldest first. */
  readonly stopped: readonly string[];
  /** The last lines of its own output. */
  readonly lines: readonly string[];
}

/** Collects what is known of a browser's end while it runs. */
export interface EndRecord {
  readonly onExit: (code: number | null, signal: NodeJS.Signals | null) => void;
  /** A guard decided, e.g. `a renderer: it took 700 MiB of memory`. */
  readonly onStopped: (what: string) => void;
  /** Called once the browser is gone: Playwright's pipe closes before the process exits, and its last lines come after that. */
  read(): Promise<BrowserEnd>;
}

const STOPPED_MAX = 10;
const EXIT_MS = 1_000;
const LINES_MS = 100;

export function recordEnd(lastLines: () => readonly string[]): EndRecord {
  const { promise: exited, resolve } = Promise.withResolvers<string>();
  const stopped: string[] = [];
  return {
    onExit: (code, signal) => resolve(signal ?? `code ${code}`),
    onStopped(what) {
      stopped.push(`${new Date().toISOString()} ${what}`);
      if (stopped.length > STOPPED_MAX) stopped.shift();
    },
    async read() {
      const exit = await Promise.race([exited, delay(EXIT_MS, undefined, { ref: false })]);
      await delay(LINES_MS, undefined, { ref: false });
      return { exit, stopped: [...stopped], lines: lastLines() };
    },
  };
}
