import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { OmicronError } from '../../contract/problem.ts';
import type { Lease } from '../lease.ts';

/**
 * `/mcp` of a lease: each MCP session of a client gets a cheap server of its own, and all of them speak to the one
 * browser. A client that reconnects finds its tabs; one that vanishes leaves nothing behind but its session.
 */
export interface McpFront {
  /** Serves a request whose bearer token was checked. `body` is the parsed body of a POST. */
  handle(request: IncomingMessage, response: ServerResponse, body: unknown): Promise<void>;
  /** Tells every client that the list of tools is another one. */
  toolsChanged(): void;
  /** Ends every session, with its running calls and open streams. */
  close(): Promise<void>;
}

interface Session {
  readonly server: Server;
  readonly transport: StreamableHTTPServerTransport;
  /** Requests in work, with the open stream of the session. */
  open: number;
  usedMs: number;
}

/** Clients that connect per request and never say goodbye must not add up. */
const SESSIONS_MAX = 64;

export function mcpFront(lease: Lease): McpFront {
  const sessions = new Map<string, Session>();

  async function newSession(): Promise<Session> {
    await makeRoom();
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      enableJsonResponse: true,
      onsessioninitialized: id => {
        sessions.set(id, session);
      },
    });
    const server = frontServer(lease);
    const session: Session = { server, transport, open: 0, usedMs: performance.now() };
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
    const victim = byAge.find(({ open }) => open === 0) ?? byAge[0];
    await victim?.server.close();
  }

  return {
    async handle(request, response, body) {
      const id = request.headers['mcp-session-id'];
      const known = typeof id === 'string' ? sessions.get(id) : undefined;
      if (id !== undefined && known === undefined)
        throw new OmicronError('session_not_found', 'There is no such MCP session; initialize a new one.');
      const session = known ?? (await newSession());
      session.open += 1;
      session.usedMs = performance.now();
      response.once('close', () => {
        session.open -= 1;
        session.usedMs = performance.now();
      });
      await session.transport.handleRequest(request, response, body);
      if (session.transport.sessionId === undefined) await session.server.close();
    },
    toolsChanged() {
      // A client without an open stream asks again by itself, or not.
      for (const { server } of sessions.values()) void server.sendToolListChanged().catch(() => undefined);
    },
    async close() {
      await Promise.all([...sessions.values()].map(({ server }) => server.close()));
    },
  };
}

/** The low-level Server: tools are passed on as they are, and a client's `roots` are never asked for. */
function frontServer(lease: Lease): Server {
  const server = new Server(
    { name: 'omicron-browser', version: '1' },
    { capabilities: { tools: { listChanged: true } }, instructions: lease.instructions },
  );
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: lease.tools() }));
  server.setRequestHandler(CallToolRequestSchema, ({ params }, { signal }) =>
    lease.call(params.name, params.arguments ?? {}, signal),
  );
  return server;
}
