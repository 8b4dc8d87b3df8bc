import { closeSync, fstatSync, mkdirSync, openSync, readFileSync, readSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** How a browser is started: through a script of ours, which tells its process id and keeps its last words. */
export interface Launcher {
  /** Given to Playwright as the browser's executable. */
  readonly executable: string;
  readonly home: string;
  readonly downloads: string;
  /** Process id (and group) of the browser, once it was started. */
  pid(): number | undefined;
  /** Last lines of the browser's own output. */
  lastLines(): string[];
}

const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** The log is read from its end only: a browser may write more than is worth reading. */
const LOG_TAIL_BYTES = 4096;
const LOG_LINES = 20;

/**
 * Chromium refuses to run its sandbox as root. Where the runner is root (a container on a laptop, CI) the browser alone
 * gives root up and Node keeps it: a checkout may be unreadable to others. Each runner's browser gets a user id of its
 * own, so that the browsers of two leases cannot touch each other; ids stay below 61184, where systemd's begin
 * (<https://systemd.io/UIDS-GIDS/>).
 */
const unprivilegedUser = (pid: number): number => 20_000 + (pid % 40_000);

/** Writes the script into the runner's own folder. */
export function browserLauncher(browser: string, tempDir: string, dropRoot: boolean): Launcher {
  const home = join(tempDir, 'home');
  const downloads = join(tempDir, 'downloads');
  const log = join(tempDir, 'browser.log');
  const pidFile = join(tempDir, 'browser.pid');
  for (const folder of [home, downloads]) mkdirSync(folder, { mode: 0o700 });
  const lines = ['#!/bin/sh', 'set -e', `echo $$ > ${quote(pidFile)}`, `exec 2> ${quote(log)}`];
  let command = quote(browser);
  if (dropRoot) {
    const user = unprivilegedUser(process.pid);
    lines.push(
      `chown ${user}:${user} ${quote(home)} ${quote(downloads)}`,
      'for argument; do',
      `  case $argument in --user-data-dir=*) chown -R ${user}:${user} "\${argument#*=}" ;; esac`,
      'done',
    );
    command = `setpriv --reuid=${user} --regid=${user} --clear-groups --inh-caps=-all --no-new-privs -- ${command}`;
  }
  lines.push(`exec ${command} "$@"`, '');
  const executable = join(tempDir, 'browser');
  writeFileSync(executable, lines.join('\n'), { mode: 0o755 });
  return {
    executable,
    home,
    downloads,
    pid() {
      try {
        return Number(readFileSync(pidFile, 'utf8')) || undefined;
      } catch {
        return undefined;
      }
    },
    lastLines: () => tail(log).split('\n').filter(Boolean).slice(-LOG_LINES),
  };
}

function tail(path: string): string {
  let file: number | undefined;
  try {
    file = openSync(path, 'r');
    const buffer = Buffer.alloc(LOG_TAIL_BYTES);
    const bytes = readSync(file, buffer, 0, LOG_TAIL_BYTES, Math.max(0, fstatSync(file).size - LOG_TAIL_BYTES));
    return buffer.toString('utf8', 0, bytes);
  } catch {
    return '';
  } finally {
    if (file !== undefined) closeSync(file);
  }
}
