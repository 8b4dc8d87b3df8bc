import type { CallToolResult } from '@modelcontextprotocol/client';
import { toolFailure } from '../../contract/tool-failure.ts';
import type { ConversationBrowser } from './conversation-browser.ts';

/** The argument by which a client names one of its conversations. */
const HANDLE = 'sessionId';

/** The browsers of one client: one for each `sessionId` that it names, and one for calls without it. */
export interface ConversationBrowsers {
  /** Runs a call of the conversation that it names, without that name: to a runner it would be another session's. */
  route(
    args: Record<string, unknown>,
    run: (browser: ConversationBrowser, args: Record<string, unknown>) => Promise<CallToolResult>,
  ): Promise<CallToolResult>;
  /** Ends every lease. */
  end(): Promise<void>;
}

/** `open` makes the browser of a conversation; undefined: of calls that name none. */
export function conversationBrowsers(open: (handle: string | undefined) => ConversationBrowser): ConversationBrowsers {
  const browsers = new Map<string | undefined, ConversationBrowser>();

  function browserOf(handle: string | undefined): ConversationBrowser {
    // results name the session, which a client may hand back
    const named = [...browsers.values()].find(({ sessionId }) => handle !== undefined && sessionId() === handle);
    const known = named ?? browsers.get(handle);
    if (known !== undefined) return known;
    const opened = open(handle);
    browsers.set(handle, opened);
    return opened;
  }

  return {
    async route({ [HANDLE]: handle, ...args }, run) {
      if (handle === undefined || handle === null) return run(browserOf(undefined), args);
      if (typeof handle === 'string' && handle !== '') return run(browserOf(handle), args);
      return toolFailure('invalid_arguments', `${HANDLE} must be a text that is not empty.`);
    },
    async end() {
      await Promise.all([...browsers.values()].map(browser => browser.end()));
    },
  };
}
