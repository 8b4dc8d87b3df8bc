import { EventEmitter } from 'node:events';
import { readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  type CDPSession,
  chromium,
} from 'playwright-core';
import type { RunnerHealth } from '../../contract/assignment.ts';
import { OmicronError } from '../../contract/problem.ts';
import { PROFILE_LIMITS } from '../../contract/profile.ts';
import { collectGarbage } from '../../process/garbage.ts';
import { readProcessTree } from '../../process/process-tree.ts';
import { realClock } from '../../time/clock.ts';
import { type BrowserEnd, type EndRecord, recordEnd } from './browser-end.ts';
import { launchGated } from './browser-pipe.ts';
import { type ContextOptions, DEFAULT_CONTEXT } from './context-options.ts';
import { type CancelledDownload, downloadJudge } from './downloads.ts';
import { eventGate } from './event-gate.ts';
import { browserLauncher, LOG_FLAGS } from './launcher.ts';
import { type BrowserLimits, browserLimits, DEFAULT_LIMITS } from './limits.ts';
import { type MemoryVerdict, watchMemory } from './memory-watch.ts';
import { browserPause, type Pause } from './pause.ts';
import { type RunnerMemoryOptions, watchRunnerMemory } from './runner-memory.ts';
import type { TrustStore } from './trust-store.ts';
import { hasTabWindows, windowPictures } from './window-pictures.ts';

/** A browser that does not answer the version request in this time hangs. */
const PROTOCOL_MS = 1_500;
const CLOSE_MS = 3_000;

export interface RunnerBrowser {
  /** The lease's context; another one after `replaceContext`. */
  readonly context: BrowserContext;
  /** Chromium's major version. */
  readonly major: number;
  readonly pause: Pause;
  /** Another context with one blank page, for the caller to close. */
  newContext(): Promise<BrowserContext>;
  /**
   * Closes the lease's context after one with these options was made: Playwright takes them at the start of a context alone. Not for one
   * that keeps its data in a folder.
   */
  replaceContext(options: ContextOptions): Promise<void>;
  /** The user agent that sites see unless a context has another. */
  userAgent(): Promise<string>;
  /** Resolves when the browser process has ended, for whatever reason. */
  readonly gone: Promise<void>;
  isGone(): boolean;
  /** The two gates of S5: whether the process is there, and whether it answers over the protocol. */
  gates(): Promise<RunnerHealth['browser']>;
  lastLines(): string[];
  /** Things that were stopped here because a page took too much; those who own the pages say so and clear up. */
  readonly stops: EventEmitter<BrowserStops>;
  /** Why a renderer was stopped in the last seconds, with all its tabs, and whether what it stored has to go. */
  whyStopped(): StoppedRenderer | undefined;
  /** Why the whole browser was ended; undefined: it ended by itself, or runs. */
  whyEnded(): string | undefined;
  /** How it ended, a moment after it is gone. */
  end(): Promise<BrowserEnd>;
  /** Closes the browser; past 3 s its process group is killed. Never rejects. */
  close(): Promise<void>;
}

export interface BrowserStops {
  /** A tab takes too much of this process; the id of its target. */
  flood: [targetId: string, why: string];
  download: [CancelledDownload];
}

export interface StoppedRenderer {
  readonly why: string;
  readonly stored: boolean;
}

export interface BrowserOptions {
  readonly executable: string;
  readonly sandbox: boolean;
  readonly tempDir: string;
  /** The forwarder to the egress proxy; without one the browser goes out by itself. */
  readonly egressUrl: string | undefined;
  /** Authorities that are trusted besides the browser's own roots. */
  readonly trustStore?: TrustStore | undefined;
  /**
   * Public keys (base64 SHA-256, comma-separated) that are accepted without any check. Chromium looks for them in every certificate of
   * the presented chain, not in the server's own alone.
   */
  readonly trustedSpki?: string | undefined;
  readonly searchPath: string;
  /** Unless set, those of the settings' defaults. */
  readonly limits?: BrowserLimits;
  /** Folder in which the context keeps the data of sites; without one it keeps that in memory. */
  readonly userDataDir?: string | undefined;
  readonly context?: ContextOptions | undefined;
  /** Bytes that sites may keep there; unless set, what a profile may take. */
  readonly storedBytesMax?: number;
}

const FLAGS = [
  // Nothing leaves around the proxy: no WebRTC candidates of this host, no QUIC.
  '--force-webrtc-ip-handling-policy=disable_non_proxied_udp',
  '--disable-quic',
  // Chromium ends itself when its GPU process has died some times: a page can make it die.
  '--disable-gpu-process-crash-limit',
];
/** No name is looked up here: the egress proxy does that. Also what bypasses the proxy's rules finds no address. */
const PROXIED_FLAGS = ['--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1', '--dns-prefetch-disable'];

/**
 * Launches the browser with one context and one blank page, so that an assignment finds both. Throws
 * `sandbox_runtime_required` where Chromium's sandbox cannot run, `runner_start_failed` for anything else.
 */
export async function launchBrowser(options: BrowserOptions): Promise<RunnerBrowser> {
  const limits = options.limits ?? browserLimits(DEFAULT_LIMITS);
  const launcher = browserLauncher(options.executable, options.tempDir, {
    dropRoot: options.sandbox && process.platform === 'linux' && process.getuid?.() === 0, // elsewhere it runs as root too
    rendererBytesMax: limits.memoryBytes,
    storedBytesMax: options.storedBytesMax ?? PROFILE_LIMITS.filesBytesMax,
  });
  const record = recordEnd(launcher.lastLines);
  const traffic = boundTraffic(limits, launcher.downloads, record.onStopped);
  const settings = {
    executablePath: launcher.executable,
    chromiumSandbox: options.sandbox,
    downloadsPath: launcher.downloads,
    args: [
      ...FLAGS,
      ...LOG_FLAGS,
      ...(options.egressUrl === undefined ? [] : PROXIED_FLAGS),
      ...(options.trustedSpki === undefined ? [] : [`--ignore-certificate-errors-spki-list=${options.trustedSpki}`]),
    ],
    // Nothing of this process's environment is the browser's.
    env: { PATH: options.searchPath, HOME: launcher.home, TMPDIR: launcher.downloads, LANG: 'C.UTF-8' },
    ...(options.egressUrl === undefined ? {} : { proxy: { server: options.egressUrl, bypass: '<-loopback>' } }),
    // Playwright's own handlers lose videos: this process closes its browser itself.
    handleSIGINT: false,
    handleSIGTERM: false,
    handleSIGHUP: false,
    timeout: 30_000,
  };
  const { context: start = DEFAULT_CONTEXT } = options;
  const launch = async () => {
    if (options.userDataDir === undefined) return { browser: await chromium.launch(settings) };
    const context = await chromium.launchPersistentContext(options.userDataDir, { ...settings, ...start });
    const browser = context.browser();
    if (browser === null) throw new Error('the context has no browser');
    return { browser, context };
  };
  const pictures = windowPictures();
  await options.trustStore?.putInto(launcher.home).catch((error: unknown) => {
    launcher.close();
    throw error;
  });
  const launched = launchGated(launcher.executable, traffic.gate, pictures, record.onExit, launch);
  const { browser, context: kept } = await launched.catch(async (cause: unknown) => {
    // Its last lines may arrive after its end.
    await delay(100);
    launcher.close();
    throw launchError(cause, launcher.lastLines(), options.sandbox);
  });
  launcher.started();
  if (hasTabWindows((await versionOf(browser)).product)) pictures.start();
  const { promise: gone, resolve } = Promise.withResolvers<void>();
  browser.once('disconnected', () => resolve());
  let context = kept ?? (await contextOf(browser, start));
  const protocol = await protocolGate(browser);
  if (kept === undefined) traffic.ofContext(await contextId(context));
  await traffic.connect(browser);
  const pause = browserPause(launcher.pid);
  const memory = boundMemory(launcher.pid() ?? 0, limits, gone, { ...traffic, onStopped: record.onStopped });
  return {
    get context() {
      return context;
    },
    major: Number.parseInt(browser.version(), 10),
    pause,
    stops: traffic.stops,
    whyStopped: () => memory.whyStopped() ?? traffic.whyStopped(),
    whyEnded: memory.whyEnded,
    end: () => gone.then(record.read),
    newContext: () => contextOf(browser, DEFAULT_CONTEXT),
    async replaceContext(chosen) {
      const before = context;
      context = await contextOf(browser, chosen);
      traffic.ofContext(await contextId(context));
      await before.close();
    },
    userAgent: () => userAgentOf(browser),
    gone,
    isGone: () => !browser.isConnected(),
    async gates() {
      const answered = pause.isHeld() ? undefined : await protocol();
      const process = processGate(launcher.pid());
      // a browser that is paused while it is asked does not answer either
      return { process, protocol: answered === undefined || pause.isHeld() ? PAUSED : answered };
    },
    lastLines: launcher.lastLines,
    async close() {
      const closed = browser.close().catch(() => undefined);
      const pid = launcher.pid();
      if ((await Promise.race([closed, delay(CLOSE_MS, 'late')])) === 'late' && pid !== undefined) killGroup(pid);
      await Promise.race([closed, delay(CLOSE_MS)]);
      launcher.close();
    },
  };
}

/** A context with one blank page. */
export async function contextOf(browser: Browser, options: BrowserContextOptions): Promise<BrowserContext> {
  const context = await browser.newContext(options);
  await context.newPage();
  return context;
}

async function versionOf(browser: Browser): Promise<Record<'userAgent' | 'product', string>> {
  const session = await browser.newBrowserCDPSession();
  const version = await session.send('Browser.getVersion');
  await session.detach();
  return version;
}

export const userAgentOf = async (browser: Browser): Promise<string> => (await versionOf(browser)).userAgent;

const PAUSED = { ok: true, detail: 'paused; it was there before' };

const FLOODED = 'it kept writing to its console, or sending requests, faster than this browser handles them';
const OPENED = 'it kept opening tabs';

/** Cancels downloads, whose files are in `downloads`, and reports tabs that flood, by what passes over the pipe. */
function boundTraffic(limits: BrowserLimits, downloads: string, onStopped: EndRecord['onStopped']) {
  const stops = new EventEmitter<BrowserStops>();
  stops.setMaxListeners(0);
  const judge = downloadJudge(limits);
  let closeTarget: ((targetId: string) => void) | undefined;
  let cancel: ((download: CancelledDownload) => void) | undefined;
  let stopped: (StoppedRenderer & { atMs: number }) | undefined;
  let browserContextId: string | undefined;
  const stop = ({ id, type }: { id: string; type: string }, why: string) => {
    stopped = { why, stored: false, atMs: realClock.nowMs() };
    onStopped(`a ${type}: ${why}`);
    stops.emit('flood', id, why);
    // A worker of no tab (a service worker) is of no page that could close it.
    if (type !== 'page') closeTarget?.(id);
  };
  const gate = eventGate(
    {
      onFlood: target => stop(target, FLOODED),
      onPopup({ id, openerId }) {
        stop({ id: openerId, type: 'page' }, OPENED);
        closeTarget?.(id);
      },
      onDownload(event) {
        const cancelled = judge(event);
        if (cancelled === undefined) return;
        cancel?.(cancelled);
        stops.emit('download', cancelled);
      },
    },
    realClock.nowMs,
  );
  return {
    gate,
    stops,
    whyStopped: () => ifRecent(stopped),
    closedMs: () => stopped?.atMs ?? -Infinity,
    stopLoudest(why: string) {
      const loudest = gate.stopLoudest();
      if (loudest !== undefined) stop(loudest, why);
    },
    /** The context whose downloads are cancelled; undefined: Chromium's default one. */
    ofContext(id: string | undefined) {
      browserContextId = id;
    },
    async connect(browser: Browser) {
      const session = await browser.newBrowserCDPSession();
      closeTarget = targetId => void session.send('Target.closeTarget', { targetId }).catch(() => undefined);
      cancel = ({ guid, last }) => {
        const ids = browserContextId === undefined ? {} : { browserContextId };
        void session
          .send('Browser.cancelDownload', { guid, ...ids })
          .catch(() => undefined)
          .then(() => rm(join(downloads, guid), { force: true }));
        if (last) void session.send('Browser.setDownloadBehavior', { behavior: 'deny', ...ids }).catch(() => undefined);
      };
    },
  };
}

/** Chromium's name of a context that has a page; the one with a user data folder is Chromium's default, which needs none. */
async function contextId(context: BrowserContext): Promise<string | undefined> {
  const [page] = context.pages();
  if (page === undefined) return undefined;
  const session: CDPSession = await context.newCDPSession(page);
  const { targetInfo } = await session.send('Target.getTargetInfo');
  await session.detach();
  return targetInfo.browserContextId;
}

/** A page that stops by a signal is seen by Playwright some time later. */
const SEEN_MS = 5_000;
const ifRecent = <T extends { readonly atMs: number }>(stopped: T | undefined): T | undefined =>
  stopped !== undefined && realClock.nowMs() - stopped.atMs < SEEN_MS ? stopped : undefined;

/** Watches the processes of the browser, and this one, and ends what makes them take too much. */
function boundMemory(
  pid: number,
  limits: BrowserLimits,
  gone: Promise<void>,
  {
    closedMs,
    stopLoudest,
    onStopped,
  }: Pick<RunnerMemoryOptions, 'closedMs' | 'stopLoudest'> & Pick<EndRecord, 'onStopped'>,
) {
  const ended = new AbortController();
  void gone.then(() => ended.abort());
  let stopped: (StoppedRenderer & { atMs: number }) | undefined;
  let whyEnded: string | undefined;
  const endBrowser = (why: string) => {
    whyEnded ??= why;
    onStopped(`the browser: ${why}`);
    killGroup(pid);
  };
  const stop = (verdict: MemoryVerdict) => {
    if (verdict.stop === 'browser') {
      endBrowser(verdict.why);
      return;
    }
    stopped = { why: verdict.why, stored: verdict.stored, atMs: realClock.nowMs() };
    onStopped(`renderer ${verdict.pid}: ${verdict.why}`);
    try {
      process.kill(verdict.pid, 'SIGKILL');
    } catch {
      // ended meanwhile
    }
  };
  const look = () => readProcessTree(pid);
  const common = { clock: realClock, signal: ended.signal };
  void watchMemory({ ...common, look, limits, stop });
  void watchRunnerMemory({
    ...common,
    heldBytes,
    collectGarbage,
    limitBytes: limits.runnerBytes,
    closedMs,
    stopLoudest,
    endBrowser,
  });
  return {
    whyStopped: () => ifRecent(stopped),
    whyEnded: () => whyEnded,
  };
}

function heldBytes(): number {
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

const SANDBOX_SIGNS = /sandbox|setpriv|user namespace|crbug\.com\/(357670|638180)/i;

function launchError(cause: unknown, lines: string[], sandbox: boolean): OmicronError {
  const said = [...lines, cause instanceof Error ? (cause.message.split('\n')[0] ?? '') : ''].join('\n');
  if (sandbox && SANDBOX_SIGNS.test(lines.join('\n')))
    return new OmicronError(
      'sandbox_runtime_required',
      "Chromium's sandbox cannot run here. Allow unprivileged user namespaces (and, in a container, a seccomp profile " +
        `that permits clone, unshare and chroot). The browser said: ${said}`,
      { cause },
    );
  return new OmicronError('runner_start_failed', `The browser did not start. It said: ${said}`, { cause });
}

/** On Linux a killed browser may stay as a zombie; it counts as gone. Elsewhere a signal shows it. */
function processGate(pid: number | undefined): { ok: boolean; detail: string } {
  if (pid === undefined) return { ok: false, detail: 'was never started' };
  try {
    process.kill(pid, 0);
    const state =
      process.platform === 'linux' ? /^\S+ \(.*\) (\S)/s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) : null;
    if (state?.[1] === 'Z') return { ok: false, detail: `process ${pid} has died` };
    return { ok: true, detail: `process ${pid} is there${state?.[1] === 'T' ? ', but stopped' : ''}` };
  } catch {
    return { ok: false, detail: `process ${pid} is gone` };
  }
}

/** `browser.version()` answers from memory; only a request over the protocol shows that the browser still works. */
export async function protocolGate(browser: Browser): Promise<() => Promise<{ ok: boolean; detail: string }>> {
  const session = await browser.newBrowserCDPSession();
  let asked: Promise<{ ok: boolean; detail: string }> | undefined;
  const ask = async () => {
    if (!browser.isConnected()) return { ok: false, detail: 'the connection is closed' };
    const abort = new AbortController();
    try {
      return await Promise.race([
        session.send('Browser.getVersion').then(({ product }) => ({ ok: true, detail: product })),
        delay(PROTOCOL_MS, { ok: false, detail: `no answer in ${PROTOCOL_MS} ms` }, { signal: abort.signal }),
      ]);
    } catch {
      return { ok: false, detail: 'the connection is closed' };
    } finally {
      abort.abort();
    }
  };
  return () => {
    asked ??= ask().finally(() => {
      asked = undefined;
    });
    return asked;
  };
}

/** Playwright starts the browser as the leader of a process group of its own, where the system has groups. */
export function killGroup(pid: number): void {
  for (const id of [-pid, pid])
    try {
      process.kill(id, 'SIGKILL');
    } catch {
      // already gone
    }
}
