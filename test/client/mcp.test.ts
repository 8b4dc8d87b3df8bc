import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { expect, it } from 'vitest';
import { BrowserSessions } from '../../client/browser-sessions.ts';
import { connectMcp } from '../../client/mcp.ts';
import { OmicronError } from '../../contract/problem.ts';
import { ended, ready, renewed } from '../fakes/controller/clients.ts';
import { startFakeController } from '../fakes/controller.ts';

async function failureAt(port: number): Promise<OmicronError> {
  const address = { mcpUrl: `http://127.0.0.1:${port}/mcp`, headers: {} };
  const error = await connectMcp(address, fetch, new AbortController().signal).catch((reason: unknown) => reason);
  if (error instanceof OmicronError) return error;
  throw error;
}

/** An MCP server whose tools all have that result. */
async function startServer(result: object) {
  const methods: string[] = [];
  const results: Record<string, object> = {
    initialize: { protocolVersion: '2025-11-25' },
    'tools/list': { tools: [] },
    'tools/call': result,
  };
  const server = createHttpServer(async (request, response) => {
    const message = JSON.parse(Buffer.concat(await request.toArray()).toString());
    methods.push(message.method);
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, result: results[message.method] ?? {} }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // it listens on TCP
  const mcpUrl = `http://127.0.0.1:${port}/mcp`;
  return {
    ...{ mcpUrl, methods },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

it('distinguishes a browser that was never reached from a connection that broke, whose call may have run', async () => {
  const server = createServer(socket => socket.once('data', () => socket.resetAndDestroy())).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // it listens on TCP
  const broken = await failureAt(port);
  expect(broken).toMatchObject({
    code: 'browser_unreachable',
    message: expect.stringContaining('may have had its effect'),
  });
  server.close();
  await once(server, 'close');
  const refused = await failureAt(port);
  expect(refused).toMatchObject({ code: 'browser_unreachable', message: expect.stringContaining('nothing was done') });
});

it('hands on what a result has for programs: structured content and `_meta`', async () => {
  await using server = await startServer({
    content: [],
    structuredContent: { title: 'Shop' },
    _meta: { 'omicron.dev/code': 'x' },
  });
  const { signal } = new AbortController();
  const mcp = await connectMcp({ mcpUrl: server.mcpUrl, headers: {} }, fetch, signal);
  expect(await mcp.callTool('browser_run', {}, signal)).toMatchObject({
    structuredContent: { title: 'Shop' },
    _meta: { 'omicron.dev/code': 'x' },
  });
});

it('makes no call of a runner whose session is known to be hibernated, though it still answers', async () => {
  await using controller = await startFakeController();
  await using before = await startServer({ content: [] });
  await using after = await startServer({ content: [{ type: 'text', text: 'restored' }] });
  controller.answerNext(ready(5, before.mcpUrl));
  const lease = await new BrowserSessions(controller).acquire({ userId: 'ada', conversationId: 'c' });
  const connected = await lease.connect();
  controller.answerNext(renewed(5, 'hibernated'));
  await lease.heartbeat();
  controller.answerNext(ready(6, after.mcpUrl));
  expect((await connected.callTool('browser_snapshot')).text).toBe('restored');
  expect(before.methods).not.toContain('tools/call');
  controller.answerNext(ended());
  await lease.end();
});
