import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import {
  CallToolRequestSchema,
  type CallToolResult,
  ListToolsRequestSchema,
  type Tool,
} from '@modelcontextprotocol/sdk/types.js';
import * as z from 'zod';
import { OmicronError } from '../../contract/problem.ts';
import { type Clock, neverAborts } from '../../http/clock.ts';

/** What the agents of one lease are served. */
export interface ServedTools {
  /** Without those that the policy never allows, as it is now. */
  listTools(): Tool[];
  /** For the agent: how to log in, and how to treat web content. */
  readonly instructions: string;
  /** Never rejects. */
  call(name: string, args: Record<string, unknown>, signal: AbortSignal): Promise<CallToolResult>;
}

/**
 * `/mcp` of a lease: each MCP session of a client gets a cheap server of its own, and all of them speak to the one
 * browser. A client that reconnects finds its tabs; one that vanishes leaves nothing behind but its session.
 */
export interface McpEndpoint {
  /**
   * Serves a request whose bearer token was checked. `body` is the parsed body of a POST. Calls whose client goes away
   * are cancelled a second later.
   */
  handle(request: IncomingMessage, response: ServerResponse, body: unknown): Promise<void>;
  /** Notifies every client that the list of tools has changed. */
  toolsChanged(): void;
  /** Ends every session, with its running calls and open streams. */
  close(): Promise<void>;
}

interface Session {
  readonly server: Server;
  readonly transport: StreamableHTTPServerTransport;
  /** Requests in flight, with the open stream of the session. */
  open: number;
  usedMs: number;
}

/** Sessions of clients that connect per request and never close them must not accumulate. */
const SESSIONS_MAX = 64;
/** A call that is about to end leaves the browser in a better state than a cancelled one. */
const GONE_CLIENT_MS = 1_000;

export function mcpEndpoint(served: ServedTools, clock: Clock): McpEndpoint {
  const sessions = new Map<string, Session>();
  let isClosed = false;

  async function newSession(): Promise<Session> {
    await makeRoom();
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      enableJsonResponse: true,
      onsessioninitialized: id => {
        sessions.set(id, session);
      },
    });
    const server = mcpServer(served);
    const session: Session = { server, transport, open: 0, usedMs: clock.nowMs() };
    server.onclose = () => {
      if (transport.sessionId !== undefined) sessions.delete(transport.sessionId);
    };
    // The SDK's classes disagree with its interface under exactOptionalPropertyTypes-like strictness: same shape.
    await server.connect(transport as Parameters<Server['connect']>[0]);
    return session;
  }

  async function makeRoom(): Promise<void> {
    if (sessions.size < SESSIONS_MAX) return;
    const byAge = [...sessions.values()].sort((a, b) => a.usedMs - b.usedMs);
    const evicted = byAge.find(({ open }) => open === 0) ?? byAge[0];
    await evicted?.server.close();
  }

  /** Its answer reaches nobody: the call ends as if the client had cancelled it. */
  async function cancelGone({ transport }: Session, body: unknown): Promise<void> {
    await clock.sleep(GONE_CLIENT_MS, neverAborts(), true);
    for (const requestId of requestIds(body))
      transport.onmessage?.({
        jsonrpc: '2.0',
        method: 'notifications/cancelled',
        params: { requestId, reason: 'The client is gone.' },
      });
  }

  return {
    async handle(request, response, body) {
      if (isClosed) throw new OmicronError('lease_ended', 'The lease ended while the request arrived.');
      const id = request.headers['mcp-session-id'];
      const known = typeof id === 'string' ? sessions.get(id) : undefined;
      if (id !== undefined && known === undefined)
        throw new OmicronError('session_not_found', 'There is no such MCP session; initialize a new one.');
      const session = known ?? (await newSession());
      session.open += 1;
      session.usedMs = clock.nowMs();
      response.once('close', () => {
        session.open -= 1;
        session.usedMs = clock.nowMs();
        if (!response.writableFinished) void cancelGone(session, body);
      });
      await session.transport.handleRequest(request, response, body);
      if (session.transport.sessionId === undefined) await session.server.close();
    },
    toolsChanged() {
      // A client without an open stream is not reached.
      for (const { server } of sessions.values()) void server.sendToolListChanged().catch(() => undefined);
    },
    async close() {
      isClosed = true;
      await Promise.all([...sessions.values()].map(({ server }) => server.close()));
    },
  };
}

const request = z.object({ id: z.union([z.string(), z.number()]) });

/** The ids of the requests in a body: one message, or a batch. */
const requestIds = (body: unknown): (string | number)[] =>
  [body].flat().flatMap(message => {
    const parsed = request.safeParse(message);
    return parsed.success ? [parsed.data.id] : [];
  });

/** The low-level Server: tools are passed on as they are, and a client's `roots` are never asked for. */
function mcpServer(served: ServedTools): Server {
  const server = new Server(
    { name: 'omicron-browser', version: '1' },
    { capabilities: { tools: { listChanged: true } }, instructions: served.instructions },
  );
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: served.listTools() }));
  server.setRequestHandler(CallToolRequestSchema, ({ params }, { signal }) =>
    served.call(params.name, params.arguments ?? {}, signal),
  );
  return server;
}
