import { EventEmitter } from 'node:events';
import { type Browser, type BrowserContext, chromium } from 'playwright-core';
import { OmicronError } from '../../contract/problem.ts';
import { within } from '../../time/within.ts';
import { contextOf, protocolGate, type RunnerBrowser, userAgentOf } from './browser.ts';
import { type ContextOptions, DEFAULT_CONTEXT } from './context-options.ts';
import type { Pause } from './pause.ts';

const CONNECT_MS = 30_000;
const CLOSE_MS = 3_000;

/**
 * Connects to a browser elsewhere, and gives the lease a context of its own in it. Its processes, memory, disk and way out are not this
 * runner's: nothing here bounds them, it is not stopped while it is idle, and it keeps no download. Throws `runner_start_failed` without the
 * address, which is a secret; and `not_held_remotely` where what sites store is to be kept in a folder.
 */
export async function connectRemoteBrowser(cdpUrl: string, userDataDir?: string): Promise<RunnerBrowser> {
  if (userDataDir !== undefined)
    throw new OmicronError('not_held_remotely', 'A remote browser keeps what sites store on its own disk.');
  const browser = await chromium.connectOverCDP(cdpUrl, { timeout: CONNECT_MS }).catch(error => {
    throw notConnected(error);
  });
  const { promise: gone, resolve } = Promise.withResolvers<void>();
  browser.once('disconnected', () => resolve());
  const newContext = (options: ContextOptions = DEFAULT_CONTEXT): Promise<BrowserContext> =>
    contextOf(browser, { ...options, acceptDownloads: false });
  const protocol = await protocolGate(browser);
  let context = await newContext();
  return {
    get context() {
      return context;
    },
    major: Number.parseInt(browser.version(), 10),
    pause: NEVER_PAUSED,
    newContext: () => newContext(),
    async replaceContext(options) {
      const before = context;
      context = await newContext(options);
      await before.close();
    },
    userAgent: () => userAgentOf(browser),
    gone,
    isGone: () => !browser.isConnected(),
    gates: async () => ({ process: connectionHealth(browser), protocol: await protocol() }),
    lastLines: () => [],
    stops: new EventEmitter(),
    whyStopped: () => undefined,
    whyEnded: () => (browser.isConnected() ? undefined : 'its connection was lost'),
    end: () => gone.then(() => ({ exit: undefined, stopped: [], lines: [] })),
    async close() {
      await within(browser.close(), CLOSE_MS);
    },
  };
}

const NEVER_PAUSED: Pause = { hold: async () => {}, letGo: () => {}, isHeld: () => false };

const connectionHealth = (browser: Browser) => ({
  ok: browser.isConnected(),
  detail: browser.isConnected() ? 'elsewhere; connected' : 'elsewhere; the connection is closed',
});

/** Playwright's message has the address in it, in more than one spelling: only what it says of the failure is passed on. */
const FAULTS = / [45]\d\d [A-Z][a-z]+|Unexpected server response: \d{3}|\bE[A-Z]{5,}\b|Timeout \d+ms exceeded/;

function notConnected(error: unknown): OmicronError {
  const [fault = 'the connection failed'] = FAULTS.exec(error instanceof Error ? error.message : '') ?? [];
  return new OmicronError('runner_start_failed', `The remote browser could not be driven: ${fault.trim()}.`);
}
