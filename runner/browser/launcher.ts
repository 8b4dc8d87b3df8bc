import { execFileSync } from 'node:child_process';
import { constants, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { BROWSER_PID_FILE } from '../../contract/names.ts';

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

const quoteArgument = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

const LOG_LINES = 20;
const LINE_CHARACTERS_MAX = 500;

/**
 * Chromium refuses to run its sandbox as root. If the runner is root (a container on a laptop, CI), the browser alone
 * gives root up and Node keeps it: a checkout may be unreadable to others. Each runner's browser gets a user id
 * of its own, so that the browsers of two leases cannot touch each other; ids stay below 61184, where systemd's begin
 * (<https://systemd.io/UIDS-GIDS/>).
 */
export const unprivilegedUser = (pid: number): number => 20_000 + (pid % 40_000);

export interface LaunchRules {
  readonly dropRoot: boolean;
  /**
   * Memory that one renderer may have for its data. The kernel holds it to that between two looks of the memory watch: an allocation
   * beyond it fails, and the script that asked for it, or its tab, ends. Renderers inherit it from the zygote, the process of Chromium's
   * from which they are forked. The main process has no such limit, for it ends with an allocation that fails, and the whole browser with
   * it; memory that it has given back counts on, up to its highest amount so far: 786 MiB of 28 in use, measured.
   */
  readonly rendererBytesMax: number;
  /**
   * Bytes that all sites together may keep in files, where the browser has a folder for that; a site that asks for more
   * gets QuotaExceededError.
   * Chromium itself lets them have four fifths of the disk: of the node's, for which a pod is evicted.
   */
  readonly storedBytesMax: number;
}

/** Stacks and heaps that are reserved and never used count too. */
const RESERVED_BYTES = 384 * 1024 * 1024;

/**
 * Added to the features that Playwright disables, as Chromium reads the last such flag alone; a feature that is both enabled and
 * disabled is disabled.
 */
const DISABLED_FEATURES = [
  // Builds a new frame for each document of a site, at a quarter of a navigation's time (ADR 0054); one of another site gets a new one without it too.
  'RenderDocument',
  // Playwright enables it. Under pictures of the surface more renderers that die crash Chromium with it: docs/upstream/screenshot-crash.md.
  'CDPScreenshotNewSurface',
  // Opens sockets for mDNS and sends queries beside the proxy. It hides addresses of this host in WebRTC's candidates, of which there are none.
  'WebRtcHideLocalIpsWithMdns',
];
/** Added to those that it enables. https://source.chromium.org/chromium/chromium/src/+/main:storage/browser/quota/quota_features.cc */
const storageFeature = (bytesMax: number): string => `StorageQuotaSettings:PoolSizeBytes/${bytesMax}`;

/** Writes the script into the runner's own folder. */
export function browserLauncher(browser: string, tempDir: string, rules: LaunchRules): Launcher {
  const home = join(tempDir, 'home');
  const downloads = join(tempDir, 'downloads');
  const pipe = join(tempDir, 'browser.stderr');
  const pidFile = join(tempDir, BROWSER_PID_FILE);
  for (const folder of [home, downloads]) mkdirSync(folder, { mode: 0o700 });
  const lines = ['#!/bin/sh', 'set -e', `echo $$ > ${quoteArgument(pidFile)}`, `exec 2> ${quoteArgument(pipe)}`];
  lines.push(
    'if limit=$(command -v prlimit); then',
    `  set -- "--zygote-cmd-prefix=$limit --data=${rules.rendererBytesMax + RESERVED_BYTES}" "$@"`,
    'fi',
  );
  lines.push(
    'for argument; do',
    '  shift',
    '  case $argument in',
    `    --disable-features=*) argument=$argument,${DISABLED_FEATURES.join(',')} ;;`,
    `    --enable-features=*) argument=$argument,${storageFeature(rules.storedBytesMax)} ;;`,
    '  esac',
    '  set -- "$@" "$argument"',
    'done',
  );
  let command = quoteArgument(browser);
  if (rules.dropRoot) {
    const user = unprivilegedUser(process.pid);
    lines.push(
      `chown -R ${user}:${user} ${quoteArgument(home)} ${quoteArgument(downloads)}`,
      'for argument; do',
      `  case $argument in --user-data-dir=*) chown -R ${user}:${user} "\${argument#*=}" ;; esac`,
      'done',
    );
    command = `setpriv --reuid=${user} --regid=${user} --clear-groups --inh-caps=-all --no-new-privs -- ${command}`;
  }
  lines.push(`exec ${command} "$@"`, '');
  const executable = join(tempDir, 'browser');
  writeFileSync(executable, lines.join('\n'), { mode: 0o755 });
  const pid = () => {
    try {
      return Number(readFileSync(pidFile, 'utf8')) || undefined;
    } catch {
      return undefined;
    }
  };
  return { executable, home, downloads, pid, ...listen(pipe) };
}

/**
 * Errors alone on standard error. The headless shell repeats there what pages write to their consoles, secrets among it and without
 * end, unless both flags say so (measured with 156: neither does alone).
 */
export const LOG_FLAGS = ['--enable-logging=stderr', '--log-level=2'] as const;

const ERROR_LINE = /^\[(?:\d+:\d+:)?\d{4}\/\d{6}\.\d+:(?:ERROR|FATAL):/;
const CONSOLE_LINE = /:CONSOLE[:(]/;

/**
 * Standard error goes into a named pipe, never into a file, and a few lines of it are kept in memory: once there are pages, errors of
 * the browser's own. If a page's console is repeated all the same, a page may write a false error after that: nothing
 * that came since there are pages is kept then.
 */
function listen(pipe: string): Pick<Launcher, 'started' | 'lastLines' | 'close'> {
  execFileSync('mkfifo', ['-m', '600', pipe]);
  let kept: string[] = [];
  /** Until the browser has started; undefined: it has not. */
  let atStart: readonly string[] | undefined;
  let repeatsConsoles = false;
  // Opened for both ways, the pipe neither waits for its writer nor ends with it.
  const socket = new Socket({ fd: openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK), writable: false });
  const keep = (line: string) => {
    if (atStart !== undefined) {
      repeatsConsoles ||= CONSOLE_LINE.test(line);
      if (repeatsConsoles) kept = [...atStart];
      if (repeatsConsoles || !ERROR_LINE.test(line)) return;
    }
    kept.push(line);
    if (kept.length > LOG_LINES) kept.shift();
  };
  let line = '';
  socket.setEncoding('utf8').on('data', (text: string) => {
    const [first = '', ...others] = text.split('\n');
    line = (line + first).slice(0, LINE_CHARACTERS_MAX);
    for (const next of others) {
      keep(line);
      line = next.slice(0, LINE_CHARACTERS_MAX);
    }
  });
  socket.unref();
  return {
    started() {
      atStart = [...kept];
    },
    lastLines: () => [...kept],
    close: () => socket.destroy(),
  };
}
