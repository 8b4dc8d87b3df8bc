import { ENV } from '../contract/names.ts';
import { OmicronError } from '../contract/problem.ts';
import type { BrowserSource } from './browser-sessions.ts';
import { BrowserSessions } from './browser-sessions.ts';
import type { LeasedBrowser } from './lease.ts';

const ON = new Set(['1', 'true', 'on', 'yes']);

/**
 * Where an application gets its browsers from, as its environment says (O17): with `BROWSER_SESSIONS_ENABLED` on, the
 * controller of `OMICRON_CONTROLLER_URL`; otherwise the one browser of `PLAYWRIGHT_MCP_URL`, and no controller is
 * called. Throws `not_configured` when what it needs is not set.
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

/** One browser that everybody shares, for development: nothing is leased, isolated or recorded. */
function sharedBrowser(mcpUrl: string): BrowserSource {
  return {
    async acquire({ signal }): Promise<LeasedBrowser> {
      signal?.throwIfAborted();
      const over = new AbortController();
      const end = async () =>
        over.abort(new OmicronError('lease_ended', 'The browser was given back; acquire it again.'));
      return {
        mcpUrl,
        headers: {},
        signal: over.signal,
        heartbeat: async () => over.signal.throwIfAborted(),
        end,
        [Symbol.asyncDispose]: end,
      };
    },
  };
}
