import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { toNodeHandler } from '@modelcontextprotocol/node';
import {
  type CallToolRequest,
  type CallToolResult,
  createMcpHandler,
  type InputRequiredResult,
  isInputRequiredResult,
  type McpHttpHandler,
  type ReadResourceResult,
  type Resource,
  Server,
  type ServerContext,
  type Tool,
} from '@modelcontextprotocol/server';
import * as z from 'zod';
import { leaseEndedResult, takesProblems, whyLeaseEnded } from '../../contract/lease-ended.ts';
import { declaresApps, namesApps, sessionNameFor, UI_CAPABILITY } from '../../contract/mcp-app.ts';
import { NO_LINKS_HEADER } from '../../contract/names.ts';
import { OmicronError } from '../../contract/problem.ts';
import { CancellableCalls, cancellation } from '../../http/cancellable-calls.ts';
import { type Clock, neverAborts } from '../../time/clock.ts';
import type { Caller } from '../calls/caller.ts';
import { elicitations } from './elicitation.ts';
import { reportProgress } from './progress.ts';

/** Tools and resources for the agents of one lease. */
export interface ServedTools {
  /** Without those that the policy never allows, as it is now; with what opens a page in the chat where the client shows apps. */
  listTools(showsApps: boolean): Tool[];
  /** For the agent: how to log in, and how to treat web content. */
  readonly instructions: string;
  /** The call itself ends the lease: its own answer is given all the same. */
  endsLease(name: string): boolean;
  /** Never rejects. */
  call(name: string, args: Record<string, unknown>, caller: Caller): Promise<CallToolResult>;
  /** Files that results link to, and the page in the chat where the client shows apps. */
  listResources(showsApps: boolean): Resource[];
  /** Throws a `ProtocolError`. */
  readResource(
    uri: string,
    caller: Pick<Caller, 'signal' | 'traceparent' | 'protocolVersion'>,
  ): Promise<ReadResourceResult>;
}

/**
 * `/mcp` of a lease, for clients of MCP 2026-07-28 and of 2025-11-25 and before: each request is served by itself, and all of
 * them speak to the one browser. There are no MCP sessions, so that a client that vanishes leaves nothing behind.
 */
export interface McpEndpoint {
  /**
   * Serves a request whose bearer token was checked. `body` is the parsed body of a POST. Calls whose client goes away
   * are cancelled a second later.
   */
  handle(request: IncomingMessage, response: ServerResponse, body: unknown): Promise<void>;
  /** Notifies every client that listens that the list of tools has changed. */
  toolsChanged(): void;
  /** Ends every running call and open stream. From then on calls answer why the lease has ended, until the process exits. */
  close(reason: string): Promise<void>;
}

/** A call that is about to end leaves the browser in a better state than a cancelled one. */
const GONE_CLIENT_MS = 1_000;
/** A policy that changed holds after this time at the latest. */
const LIST_MS = 15_000;
/** A call that ends with its lease is answered in this time. */
const LAST_ANSWERS_MS = 1_000;
/** Clients of 2025 cancel by a message, and name the call by this header of theirs and the id of its request. */
const SESSION_HEADER = 'mcp-session-id';
const VERSION_HEADER = 'mcp-protocol-version';
/** The first revision that knows links. Older clients send no version, and refuse a result with one. */
const LINKS_SINCE = '2025-06-18';

type CallToolParams = CallToolRequest['params'];

type CalledBy = Pick<Caller, 'showsApps' | 'protocolVersion'> & { readonly cancelled: AbortController };

const toolCall = z.object({ method: z.literal('tools/call') });

export function mcpEndpoint(served: ServedTools, clock: Clock): McpEndpoint {
  const calls = new CancellableCalls();
  const closed = new AbortController();
  let endReason: string | null = null;
  const answering = new Set<Promise<void>>();
  const elicitationOf = elicitations();

  async function tracked(serving: Promise<void>): Promise<void> {
    answering.add(serving);
    await serving.finally(() => answering.delete(serving));
  }

  /** The SDK aborts a call as soon as its connection is gone. */
  async function call(
    { name, arguments: args = {}, _meta }: CallToolParams,
    context: ServerContext,
    { cancelled, showsApps, protocolVersion }: CalledBy,
  ) {
    if (closed.signal.aborted) return leaseEndedResult(endReason);
    const { mcpReq } = context;
    const elicitation = await elicitationOf(name, args, context);
    const answered = new AbortController();
    const onGone = () => void clock.sleep(GONE_CLIENT_MS, neverAborts(), true).then(() => cancelled.abort());
    mcpReq.signal.addEventListener('abort', onGone, { once: true });
    const progressToken = _meta?.progressToken;
    if (progressToken !== undefined) {
      const notify = (progress: number, message: string) =>
        mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, message } });
      void reportProgress({ tool: name, clock, notify }, AbortSignal.any([answered.signal, mcpReq.signal]));
    }
    try {
      const endsLease = served.endsLease(name);
      const signal = endsLease ? cancelled.signal : AbortSignal.any([cancelled.signal, closed.signal]);
      const caller = { signal, traceparent: _meta?.traceparent, protocolVersion, showsApps, elicitation };
      const result = await served.call(name, args, caller);
      return closed.signal.aborted && !endsLease
        ? leaseEndedResult(endReason)
        : ((await elicitation?.required()) ?? result);
    } finally {
      answered.abort();
      mcpReq.signal.removeEventListener('abort', onGone);
    }
  }

  const open = () =>
    createMcpHandler(({ requestInfo }) => {
      const protocolVersion = requestInfo?.headers.get(VERSION_HEADER) ?? undefined;
      const takesLinks = (protocolVersion ?? '') >= LINKS_SINCE && !requestInfo?.headers.has(NO_LINKS_HEADER);
      const name = requestInfo?.headers.get(SESSION_HEADER) ?? undefined;
      const caller = name ?? randomUUID();
      return leaseServer(served, { name, protocolVersion }, async (params, context, showsApps) => {
        const result = await calls.run(caller, context.mcpReq.id, cancelled =>
          call(params, context, { cancelled, showsApps, protocolVersion }),
        );
        return takesLinks || isInputRequiredResult(result) ? result : withoutLinks(result);
      });
    });
  let handler = open();
  let serve = nodeHandler(handler);

  return {
    async handle(request, response, body) {
      if (closed.signal.aborted && takesProblems(request.headers.accept))
        throw new OmicronError('lease_ended', whyLeaseEnded(endReason));
      const session = sessionNameFor(body);
      if (session !== undefined) response.setHeader(SESSION_HEADER, session);
      // Clients of 2025-03-26 may send several messages at once.
      const messages = [body].flat();
      for (const message of messages) {
        const cancelling = cancellation.safeParse(message).data;
        if (cancelling !== undefined) calls.cancel(String(request.headers[SESSION_HEADER]), cancelling);
      }
      const serving = serve(request, response, body);
      if (messages.some(message => toolCall.safeParse(message).success)) await tracked(serving);
      else await serving;
    },
    toolsChanged: () => handler.notify.toolsChanged(),
    async close(reason) {
      endReason = reason;
      const last = handler;
      handler = open();
      serve = nodeHandler(handler);
      closed.abort();
      // Their clients read why they ended.
      await Promise.race([Promise.allSettled(answering), clock.sleep(LAST_ANSWERS_MS, neverAborts(), true)]);
      await last.close();
    },
  };
}

interface ServedClient {
  /** The id of its session, as clients of 2025 send it. */
  readonly name: string | undefined;
  readonly protocolVersion: string | undefined;
}

type RunCall = (
  params: CallToolParams,
  context: ServerContext,
  showsApps: boolean,
) => Promise<CallToolResult | InputRequiredResult>;

/** Answers the requests of one client. The low-level Server: tools are passed on as they are. */
function leaseServer(served: ServedTools, { name, protocolVersion }: ServedClient, run: RunCall): Server {
  const showsAppsTo = ({ mcpReq }: ServerContext) => namesApps(name) || declaresApps(mcpReq.envelope);
  const server = new Server(
    { name: 'omicron-browser', version: '1' },
    {
      capabilities: { tools: { listChanged: true }, resources: {}, ...UI_CAPABILITY },
      instructions: served.instructions,
      cacheHints: { 'tools/list': { ttlMs: LIST_MS, cacheScope: 'private' } },
    },
  );
  server.setRequestHandler('tools/list', (_request, context) => ({ tools: served.listTools(showsAppsTo(context)) }));
  server.setRequestHandler('tools/call', ({ params }, context) => run(params, context, showsAppsTo(context)));
  server.setRequestHandler('resources/list', (_request, context) => ({
    resources: served.listResources(showsAppsTo(context)),
  }));
  server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates: [] }));
  server.setRequestHandler('resources/read', ({ params }, { mcpReq: { signal } }) =>
    served.readResource(params.uri, { signal, traceparent: params._meta?.traceparent, protocolVersion }),
  );
  return server;
}

/** Without the `connection: keep-alive` of the library's streams: the runner's server decides that, which may be about to end. */
const nodeHandler = (handler: McpHttpHandler) =>
  toNodeHandler({
    async fetch(request, options) {
      // The library takes the two types by name alone, not a client that takes anything.
      if (request.method === 'POST' && takesAnything(request.headers.get('accept')))
        request.headers.set('accept', 'application/json, text/event-stream');
      const response = await handler.fetch(request, options);
      response.headers.delete('connection');
      return response;
    },
  });

const takesAnything = (accept: string | null): boolean => accept === null || /\*\/\*/.test(accept);

const withoutLinks = (result: CallToolResult): CallToolResult => ({
  ...result,
  content: result.content.filter(({ type }) => type !== 'resource_link'),
});
