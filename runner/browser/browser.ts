import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { type Browser, type BrowserContext, chromium } from 'playwright-core';
import type { RunnerHealth } from '../../contract/assignment.ts';
import { ENV } from '../../contract/names.ts';
import { OmicronError } from '../../contract/problem.ts';
import { browserLauncher } from './launcher.ts';

/** Size of the page and of its recording (O12). */
export const VIEWPORT = { width: 1920, height: 1080 } as const;

/** A browser that does not answer the version request in this time hangs. */
const PROTOCOL_MS = 1_500;
const CLOSE_MS = 3_000;

export interface RunnerBrowser {
  /** The lease's context. */
  readonly context: BrowserContext;
  /** Another context with one blank page, for the caller to close. */
  newContext(): Promise<BrowserContext>;
  /** Resolves when the browser process has ended, for whatever reason. */
  readonly gone: Promise<void>;
  isGone(): boolean;
  /** The two gates of S5: whether the process is there, and whether it answers over the protocol. */
  gates(): Promise<RunnerHealth['browser']>;
  lastLines(): string[];
  /** Closes the browser; past 3 s its process group is killed. Never rejects. */
  close(): Promise<void>;
}

export interface BrowserOptions {
  readonly executable: string;
  readonly sandbox: boolean;
  readonly tempDir: string;
  /** The forwarder to the egress proxy; without one the browser goes out by itself. */
  readonly egressUrl: string | undefined;
  /** Public keys (base64 SHA-256, comma-separated) whose certificates are trusted: a private CA. */
  readonly trustedSpki?: string | undefined;
  readonly searchPath: string;
}

const FLAGS = [
  // Nothing leaves around the proxy: no WebRTC candidates of this host, no QUIC.
  '--force-webrtc-ip-handling-policy=disable_non_proxied_udp',
  '--disable-quic',
];
/** No name is looked up here: the egress proxy does that. Also what bypasses the proxy's rules finds no address. */
const PROXIED_FLAGS = ['--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1', '--dns-prefetch-disable'];

/**
 * Launches the browser with one context and one blank page, so that an assignment finds both. Throws
 * `sandbox_runtime_required` where Chromium's sandbox cannot run, `runner_start_failed` for anything else.
 */
export async function launchBrowser(options: BrowserOptions): Promise<RunnerBrowser> {
  const launcher = browserLauncher(options.executable, options.tempDir, options.sandbox && process.getuid?.() === 0);
  const browser = await chromium
    .launch({
      executablePath: launcher.executable,
      chromiumSandbox: options.sandbox,
      downloadsPath: launcher.downloads,
      args: [
        ...FLAGS,
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
    })
    .catch(async (cause: unknown) => {
      // Its last lines may arrive after its end.
      await delay(100);
      launcher.close();
      throw launchError(cause, launcher.lastLines(), options.sandbox);
    });
  launcher.started();
  const { promise: gone, resolve } = Promise.withResolvers<void>();
  browser.once('disconnected', () => resolve());
  const newContext = async (): Promise<BrowserContext> => {
    const context = await browser.newContext({ viewport: VIEWPORT });
    await context.newPage();
    return context;
  };
  const context = await newContext();
  const protocol = await protocolGate(browser);
  return {
    context,
    newContext,
    gone,
    isGone: () => !browser.isConnected(),
    gates: async () => ({ process: processGate(launcher.pid()), protocol: await protocol() }),
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

const SANDBOX_SIGNS = /sandbox|setpriv|user namespace|crbug\.com\/(357670|638180)/i;

function launchError(cause: unknown, lines: string[], sandbox: boolean): OmicronError {
  const said = [...lines, cause instanceof Error ? (cause.message.split('\n')[0] ?? '') : ''].join('\n');
  if (sandbox && SANDBOX_SIGNS.test(lines.join('\n')))
    return new OmicronError(
      'sandbox_runtime_required',
      "Chromium's sandbox cannot run here. Allow unprivileged user namespaces (and, in a container, a seccomp profile " +
        `that permits clone, unshare and chroot), or opt out with ${ENV.chromiumSandbox}=off for pages you trust. ` +
        `The browser said: ${said}`,
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
async function protocolGate(browser: Browser): Promise<() => Promise<{ ok: boolean; detail: string }>> {
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

/** Playwright starts the browser as the leader of a process group of its own. */
export function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // already gone
  }
}
