import { ENV } from '../contract/names.ts';
import { OmicronError } from '../contract/problem.ts';
import type { BrowserSource } from './browser-sessions.ts';
import { BrowserSessions } from './browser-sessions.ts';
import { acquireAndConnect, connectBrowser } from './connect.ts';
import type { LeasedBrowser } from './leased-browser.ts';

const ON = new Set(['1', 'true', 'on', 'yes']);

/**
 * The browsers that the environment configures (O17): with `BROWSER_SESSIONS_ENABLED` on, those of the controller at
 * `OMICRON_CONTROLLER_URL`; otherwise the one browser of `PLAYWRIGHT_MCP_URL`, without calling a controller. Throws
 * `not_configured` when a variable is missing.
 */
export function browserSource(environment: Record<string, string | undefined>): BrowserSource {
  if (ON.has((environment[ENV.sessionsEnabled] ?? '').toLowerCase())) {
    const url = environment[ENV.controllerUrl];
    const serviceSecret = environment[ENV.serviceSecret];
    if (url && serviceSecret) return new BrowserSessions({ url, serviceSecret });
    throw new OmicronError(
      'not_configured',
      `${ENV.sessionsEnabled} is on: set ${ENV.controllerUrl} and ${ENV.serviceSecret} too.`,
    );
  }
  const mcpUrl = environment[ENV.mcpUrlFallback];
  if (mcpUrl && URL.canParse(mcpUrl)) return sharedBrowser(mcpUrl);
  throw new OmicronError(
    'not_configured',
    `No browser is configured: set ${ENV.sessionsEnabled}=true for leased browsers, or ${ENV.mcpUrlFallback} to the URL of a Playwright MCP server.`,
  );
}

/** One browser that all callers share, for development: nothing is leased, isolated or recorded. */
function sharedBrowser(mcpUrl: string): BrowserSource {
  const acquire: BrowserSource['acquire'] = async ({ signal }) => {
    signal?.throwIfAborted();
    return sharedLease(mcpUrl);
  };
  return { acquire, connect: request => acquireAndConnect(() => acquire(request), globalThis.fetch) };
}

function sharedLease(mcpUrl: string): LeasedBrowser {
  const over = new AbortController();
  const release = async () =>
    over.abort(new OmicronError('lease_released', 'The lease was released; acquire it again.'));
  const lease: LeasedBrowser = {
    mcpUrl,
    headers: {},
    signal: over.signal,
    connect: () => connectBrowser(lease, globalThis.fetch),
    restore: async () => false,
    followSwitch: call => call(),
    heartbeat: async () => over.signal.throwIfAborted(),
    release,
    end: async () => over.abort(new OmicronError('lease_ended', 'The lease was ended; acquire a new one.')),
    [Symbol.asyncDispose]: release,
  };
  return lease;
}
