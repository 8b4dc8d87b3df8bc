/** The log of one runner of this file, and how much of it earlier tests have left behind. */
interface RunnerLog {
  readonly runnerId: string;
  readonly text: () => string;
  seen: number;
}

const logs: RunnerLog[] = [];

/** Called for each runner that a test starts: what it logs stands in the failure of that test. */
export function watchRunnerLog(runnerId: string, text: () => string): void {
  logs.push({ runnerId, text, seen: 0 });
}

/** The log of every runner since the last call, as a failure shows it; empty where nothing was logged. */
export function takeRunnerLogs(): string {
  const parts = logs.map(log => {
    const text = log.text();
    const fresh = text.slice(log.seen);
    log.seen = text.length;
    return fresh === '' ? '' : `\n\nLog of runner ${log.runnerId}:\n${tailOf(fresh)}`;
  });
  return parts.join('');
}

const LINES = 15;
const WARNINGS = 15;
const LINE_CHARACTERS = 2_000;
/** Pino's number for warnings; errors have a higher one. */
const WARN = 40;

/** The last lines, and before them the last warnings and errors: the end of a browser is one. */
export function tailOf(text: string): string {
  const lines = text.trimEnd().split('\n');
  const last = lines.slice(-LINES);
  const earlier = lines.slice(0, -LINES).filter(isWarning).slice(-WARNINGS);
  return [...earlier, ...last].map(line => line.slice(0, LINE_CHARACTERS)).join('\n');
}

/** Lines that are no JSON are the process's own, e.g. an uncaught exception. */
const isWarning = (line: string): boolean => Number(/"level":(\d+)/.exec(line)?.[1] ?? WARN) >= WARN;
