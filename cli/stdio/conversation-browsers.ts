import type { CallToolResult } from '@modelcontextprotocol/client';
import { toolFailure } from '../../contract/tool-failure.ts';
import type { ConversationBrowser } from './conversation-browser.ts';

/** The argument by which a client names one of its conversations; policies may ask for it, so runners get it too. */
const HANDLE = 'sessionId';
const SESSION_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The browsers of one client: one for each `sessionId` that it names. */
export interface ConversationBrowsers {
  /** Runs a call with the browser of the conversation that its arguments name. */
  route(
    args: Record<string, unknown>,
    run: (browser: ConversationBrowser) => Promise<CallToolResult>,
  ): Promise<CallToolResult>;
  /** Ends every lease. */
  end(): Promise<void>;
}

/** `open` makes the browser of a conversation; undefined: of the first one, which calls without a name share. */
export function conversationBrowsers(open: (handle: string | undefined) => ConversationBrowser): ConversationBrowsers {
  const first = open(undefined);
  const browsers = new Map<string, ConversationBrowser>();

  function browserOf(handle: string): ConversationBrowser {
    // results name the session, which a client may hand back
    const named = [first, ...browsers.values()].find(({ sessionId }) => sessionId() === handle);
    const known = named ?? browsers.get(handle);
    if (known !== undefined) return known;
    if (SESSION_ID.test(handle)) return first; // of a session that is not of this client: its runner refuses it
    const opened = browsers.size === 0 ? first : open(handle);
    browsers.set(handle, opened);
    return opened;
  }

  return {
    async route({ [HANDLE]: handle }, run) {
      if (handle === undefined || handle === null) return run(first);
      if (typeof handle === 'string' && handle !== '') return run(browserOf(handle));
      return toolFailure('invalid_arguments', `${HANDLE} must be a text that is not empty.`);
    },
    async end() {
      await Promise.all([...new Set([first, ...browsers.values()])].map(browser => browser.end()));
    },
  };
}
