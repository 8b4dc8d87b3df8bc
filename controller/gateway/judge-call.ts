import { createMcpHandler, Server } from '@modelcontextprotocol/server';
import type { ToolCallMessage } from './handle.ts';

/**
 * The MCP library's own answer to a call whose headers or parameters are wrong, as its runner would give it; undefined: the call
 * is well-formed. Asked before a browser is leased, which a client could otherwise make any number of bad calls begin.
 */
export async function badCallAnswer(call: ToolCallMessage, url: URL, headers: Headers): Promise<Response | undefined> {
  let isGood = false;
  const handler = createMcpHandler(() => {
    const server = new Server({ name: 'omicron-browser', version: '1' }, { capabilities: { tools: {} } });
    server.setRequestHandler('tools/call', () => {
      isGood = true;
      return { content: [] };
    });
    return server;
  });
  try {
    const answer = await handler.fetch(new Request(url, { method: 'POST', headers }), { parsedBody: call });
    const text = await answer.text(); // a stream ends when the call has been judged
    return isGood ? undefined : new Response(text, { status: answer.status, headers: answer.headers });
  } finally {
    await handler.close();
  }
}
