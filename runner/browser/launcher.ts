import { execFileSync } from 'node:child_process';
import { constants, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** Starts a browser through a script, which records its process id and the last lines of its output. */
export interface Launcher {
  /** Given to Playwright as the browser's executable. */
  readonly executable: string;
  readonly home: string;
  readonly downloads: string;
  /** Process id (and group) of the browser, once it was started. */
  pid(): number | undefined;
  /** From now on pages may write to their consoles: only what Chromium itself complains about is kept. */
  started(): void;
  /** Last lines of the browser's own output. */
  lastLines(): string[];
  /** Stops listening. */
  close(): void;
}

const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

const LOG_LINES = 20;
const LINE_CHARACTERS_MAX = 500;

/**
 * Chromium refuses to run its sandbox as root. Where the runner is root (a container on a laptop, CI) the browser
 * alone gives root up and Node keeps it: a checkout may be unreadable to others. Each runner's browser gets a user id
 * of its own, so that the browsers of two leases cannot touch each other; ids stay below 61184, where systemd's begin
 * (<https://systemd.io/UIDS-GIDS/>).
 */
const unprivilegedUser = (pid: number): number => 20_000 + (pid % 40_000);

/** Writes the script into the runner's own folder. */
export function browserLauncher(browser: string, tempDir: string, dropRoot: boolean): Launcher {
  const home = join(tempDir, 'home');
  const downloads = join(tempDir, 'downloads');
  const pipe = join(tempDir, 'browser.stderr');
  const pidFile = join(tempDir, 'browser.pid');
  for (const folder of [home, downloads]) mkdirSync(folder, { mode: 0o700 });
  const lines = ['#!/bin/sh', 'set -e', `echo $$ > ${quote(pidFile)}`, `exec 2> ${quote(pipe)}`];
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
  const log = listen(pipe);
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
    ...log,
  };
}

/**
 * The headless shell repeats what pages write to their consoles on its standard error, whatever its flags say:
 * secrets, and without end. So that goes into a named pipe, never into a file, and a few lines are kept in memory.
 */
function listen(pipe: string): Pick<Launcher, 'started' | 'lastLines' | 'close'> {
  execFileSync('mkfifo', ['-m', '600', pipe]);
  const kept: string[] = [];
  let running = false;
  // Opened for both ways, the pipe neither waits for its writer nor ends with it.
  const socket = new Socket({ fd: openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK), writable: false });
  createInterface({ input: socket }).on('line', line => {
    if (running && !/^\[[^\]]*:(ERROR|FATAL):(?!CONSOLE)/.test(line)) return;
    kept.push(line.slice(0, LINE_CHARACTERS_MAX));
    if (kept.length > LOG_LINES) kept.shift();
  });
  socket.unref();
  return {
    started() {
      running = true;
    },
    lastLines: () => [...kept],
    close: () => socket.destroy(),
  };
}
