import {
  type CallToolResult,
  Client,
  type Progress,
  SdkHttpError,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import type { LeasedBrowser } from '../../client/leased-browser.ts';
import { leaseEndedResult } from '../../contract/lease-ended.ts';
import { SHOWS_APPS } from '../../contract/mcp-app.ts';
import { NO_LINKS_HEADER } from '../../contract/names.ts';
import { PROBLEM_TYPE } from '../../contract/problem.ts';
import { toolFailure } from '../../contract/tool-failure.ts';
import manifest from '../package.json' with { type: 'json' };

/** The browser of one conversation, leased by its first call. */
export interface ConversationBrowser {
  /** Rejects when no browser can be leased, or with the signal's reason. */
  call(tool: string, args: Record<string, unknown>, options: ToolCallOptions): Promise<CallToolResult>;
  /** A call of the page in the chat, which leases nothing. */
  callOfPage(tool: string, args: Record<string, unknown>, signal: AbortSignal): Promise<CallToolResult>;
  /** Id of the session that was leased last. */
  sessionId(): string | undefined;
  /** Ends the lease, if there is one. */
  end(): Promise<void>;
}

export interface ToolCallOptions {
  readonly signal: AbortSignal;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
}

/** A lease of a controller. */
type NamedLease = LeasedBrowser & { readonly sessionId: string };

interface Connected {
  readonly lease: LeasedBrowser;
  readonly client: Client;
}

/** Longer than any call takes; a client that waits less cancels. */
const CALL_MS = 20 * 60_000;
/** Leases in which one call is tried. */
const ATTEMPTS = 2;

/** `acquire` leases the conversation's browser, or finds the lease that it has. */
export function conversationBrowser(acquire: () => Promise<NamedLease>): ConversationBrowser {
  let connecting: Promise<Connected> | undefined;
  let sessionId: string | undefined;

  async function connect(): Promise<Connected> {
    const lease = await acquire();
    sessionId = lease.sessionId;
    const client = new Client(
      { name: 'omicron-browser', version: manifest.version },
      { versionNegotiation: { mode: { pin: '2026-07-28' } }, capabilities: SHOWS_APPS },
    );
    const requestInit = { headers: { ...lease.headers, accept: PROBLEM_TYPE, [NO_LINKS_HEADER]: '1' } };
    await client.connect(new StreamableHTTPClientTransport(new URL(lease.mcpUrl), { requestInit }));
    return { lease, client };
  }

  /** One lease for calls that come together. */
  function connected(): Promise<Connected> {
    if (connecting !== undefined) return connecting;
    const mine = connect();
    connecting = mine;
    const forget = () => forgetConnection(mine);
    mine.then(({ lease }) => lease.signal.addEventListener('abort', forget, { once: true }), forget);
    return mine;
  }

  /** The next call leases again. */
  function forgetConnection(lost: Promise<Connected>): void {
    if (connecting === lost) connecting = undefined;
  }

  return {
    async call(tool, args, { signal, onProgress }) {
      for (let attempt = 1; ; attempt++) {
        const connection = connected();
        const { client } = await connection;
        try {
          return await client.callTool(
            { name: tool, arguments: args },
            { signal, timeout: CALL_MS, ...(onProgress === undefined ? {} : { onprogress: onProgress }) },
          );
        } catch (error) {
          if (signal.aborted) throw error;
          const began = mayHaveBegun(error);
          if (began || attempt === ATTEMPTS) return began ? INTERRUPTED : UNREACHABLE;
          forgetConnection(connection);
        }
      }
    },
    async callOfPage(tool, args, signal) {
      const connection = await connecting?.catch(() => undefined);
      if (connection === undefined) return leaseEndedResult(null);
      return connection.client.callTool({ name: tool, arguments: args }, { signal });
    },
    sessionId: () => sessionId,
    async end() {
      const last = await connecting?.catch(() => undefined);
      await last?.client.close();
      await last?.lease.end();
    },
  };
}

/** Whether the runner may have begun a call that failed so: not if it refused the lease's token, or took no connection. */
function mayHaveBegun(error: unknown): boolean {
  if (error instanceof SdkHttpError) return error.status !== 401 && error.status !== 409;
  const cause = error instanceof Error ? error.cause : undefined;
  return !(cause instanceof Error && 'code' in cause && cause.code === 'ECONNREFUSED');
}

const INTERRUPTED = toolFailure(
  'call_interrupted',
  'The connection to the browser broke while the call ran. It may have had its effect, and was not repeated.',
  'Look at the page before you call the tool again.',
);
const UNREACHABLE = toolFailure(
  'browser_unreachable',
  'The browser cannot be reached; nothing was done.',
  'Try again.',
);
