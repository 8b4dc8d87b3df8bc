import { ENV } from '../contract/names.ts';
import { OmicronError } from '../contract/problem.ts';
import type { BrowserSource } from './browser-sessions.ts';
import { BrowserSessions } from './browser-sessions.ts';
import type { LeasedBrowser } from './lease.ts';

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
  return {
    async acquire({ signal }): Promise<LeasedBrowser> {
      signal?.throwIfAborted();
      const ended = new AbortController();
      const end = async () => ended.abort(new OmicronError('lease_ended', 'The lease was ended; acquire a new one.'));
      return {
        mcpUrl,
        headers: {},
        signal: ended.signal,
        heartbeat: async () => ended.signal.throwIfAborted(),
        end,
        [Symbol.asyncDispose]: end,
      };
    },
  };
}
