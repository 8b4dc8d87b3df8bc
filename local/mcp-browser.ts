import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import * as z from 'zod';
import type { LeasedBrowser } from '../client/leased-browser.ts';

/** A tool call failed; the message is the tool's. */
export class ToolError extends Error {}

export interface ToolAnswer {
  text: string;
  images: Buffer[];
}

/** An MCP client's connection to a leased browser. */
export interface McpBrowser extends AsyncDisposable {
  /** Throws ToolError when the tool failed. */
  call(tool: string, args?: Record<string, unknown>): Promise<ToolAnswer>;
  /** Returns the page's title. Throws ToolError for an error status, such as a refusal of the egress proxy. */
  goto(url: string): Promise<string>;
  /** Evaluates a function without arguments in the page and returns its JSON result. */
  evaluate(source: string): Promise<unknown>;
}

/** `responseStatus` is 0 for pages that come without HTTP: <https://w3c.github.io/resource-timing/>. */
const PAGE_SEEN =
  "() => ({ title: document.title, status: performance.getEntriesByType('navigation')[0]?.responseStatus ?? 0 })";
const pageSeen = z.object({ title: z.string(), status: z.int() });

/** Connects an MCP client to a leased browser. */
export async function connectMcpBrowser({
  mcpUrl,
  headers,
}: Pick<LeasedBrowser, 'mcpUrl' | 'headers'>): Promise<McpBrowser> {
  const client = new Client({ name: 'omicron-browser', version: '0.1.0' });
  const transport = new StreamableHTTPClientTransport(new URL(mcpUrl), { requestInit: { headers: { ...headers } } });

  await client.connect(transport);

  const call: McpBrowser['call'] = async (tool, args = {}) => {
    const { content, isError } = await client.callTool({ name: tool, arguments: args });
    const text = content.flatMap(part => (part.type === 'text' ? [part.text] : [])).join('\n');
    if (isError) throw new ToolError(`${tool}: ${text}`);
    return { text, images: content.flatMap(part => (part.type === 'image' ? [Buffer.from(part.data, 'base64')] : [])) };
  };
  const evaluate: McpBrowser['evaluate'] = async source => {
    const { text } = await call('browser_evaluate', { function: source });
    const result = /### Result\n([\s\S]*?)(?:\n### |$)/.exec(text)?.[1];
    if (result === undefined) throw new ToolError(`browser_evaluate returned no result: ${text}`);
    return JSON.parse(result);
  };
  return {
    call,
    evaluate,
    async goto(url) {
      await call('browser_navigate', { url });
      const { title, status } = pageSeen.parse(await evaluate(PAGE_SEEN));
      if (status < 400) return title;
      throw new ToolError(`browser_navigate: ${url} answered ${status}: ${title || '(no title)'}`);
    },
    [Symbol.asyncDispose]: () => client.close(),
  };
}
