import { type CallToolResult, Client, StreamableHTTPClientTransport, type Tool } from '@modelcontextprotocol/client';
import { AppBridge } from '@modelcontextprotocol/ext-apps/app-bridge';
import type { FrameLocator, Page } from 'playwright-core';
import { z } from 'zod';
import { SHOWS_APPS } from '../../contract/mcp-app.ts';

/**
 * The acts of a chat that shows MCP Apps: it has a client of a server, hides from its model what is the page's, and runs
 * the page in a frame.
 */
export interface ChatHost extends AsyncDisposable {
  readonly client: Client;
  /** Tools that the model is shown. */
  modelTools(): Promise<string[]>;
  /** Calls a tool as the model does, and opens the page that is bound to it. */
  callAsModel(name: string, args?: Record<string, unknown>): Promise<CallToolResult>;
  /** The frame of the page. */
  readonly frame: FrameLocator;
  /** Names of the tools that the page called, in order. */
  readonly calledByPage: string[];
  /** Display modes that the page asked for. */
  readonly modes: string[];
}

export interface ChatHostOptions {
  readonly mcpUrl: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly era: 'auto' | 'legacy';
  /** Whether its policy lets pages open the sockets that they declare. */
  readonly sockets: boolean;
  readonly fetch?: typeof fetch;
}

const uiOf = z.looseObject({
  ui: z.looseObject({
    resourceUri: z.string().optional(),
    visibility: z.array(z.string()).optional(),
    csp: z.looseObject({ connectDomains: z.array(z.string()) }).optional(),
  }),
});
const uiMeta = (meta: unknown) => uiOf.safeParse(meta).data?.ui ?? {};
const isForModel = ({ _meta }: Tool) => uiMeta(_meta).visibility?.includes('model') !== false;
const isForPage = ({ _meta }: Tool) => uiMeta(_meta).visibility?.includes('app') !== false;

export async function chatHost(
  chat: Page,
  { mcpUrl, headers, era, sockets, fetch }: ChatHostOptions,
): Promise<ChatHost> {
  const client = new Client(
    { name: 'chat', version: '1' },
    { capabilities: SHOWS_APPS, versionNegotiation: { mode: era } },
  );
  const requestInit = { headers: { ...headers } };
  await client.connect(new StreamableHTTPClientTransport(new URL(mcpUrl), { requestInit, ...(fetch && { fetch }) }));
  const { tools } = await client.listTools();
  const calledByPage: string[] = [];
  const modes: string[] = [];
  const bridge = new AppBridge(
    null,
    { name: 'chat', version: '1' },
    { serverTools: {} },
    { hostContext: { theme: 'dark', displayMode: 'inline', availableDisplayModes: ['inline', 'fullscreen'] } },
  );
  bridge.oncalltool = async params => {
    const tool = tools.find(({ name }) => name === params.name);
    if (tool === undefined || !isForPage(tool)) throw new Error(`${params.name} is not for pages`);
    calledByPage.push(params.name);
    return client.callTool(params);
  };
  bridge.onrequestdisplaymode = async ({ mode }) => {
    modes.push(mode);
    return { mode };
  };

  /** As the specification's default policy for pages, with the declared origins where this host allows any. */
  async function open(uri: string, args: Record<string, unknown>, result: CallToolResult): Promise<void> {
    const [page] = (await client.readResource({ uri })).contents;
    if (page === undefined || !('text' in page)) throw new Error('the page has no text');
    expectMime(page.mimeType);
    const origins = sockets ? (uiMeta(page._meta).csp?.connectDomains ?? []) : [];
    const csp = `default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src ${origins.join(' ') || "'none'"}`;
    const ready = Promise.withResolvers<void>();
    bridge.oninitialized = () => ready.resolve();
    await bridge.connect(await frameTransport(chat));
    const html = `<meta http-equiv="Content-Security-Policy" content="${csp}">${page.text}`;
    await chat.evaluate(`document.querySelector('iframe').srcdoc = ${JSON.stringify(html)}`);
    await ready.promise;
    await bridge.sendToolInput({ arguments: args });
    await bridge.sendToolResult(result);
  }

  return {
    ...{ client, calledByPage, modes },
    frame: chat.frameLocator('iframe'),
    modelTools: async () => tools.filter(isForModel).map(({ name }) => name),
    async callAsModel(name, args = {}) {
      const tool = tools.find(each => each.name === name && isForModel(each));
      if (tool === undefined) throw new Error(`${name} is not for models`);
      const result = await client.callTool({ name, arguments: args });
      const { resourceUri } = uiMeta(tool._meta);
      if (resourceUri !== undefined) await open(resourceUri, args, result);
      return result;
    },
    async [Symbol.asyncDispose]() {
      await client.close();
    },
  };
}

function expectMime(mimeType: string | undefined): void {
  if (mimeType !== 'text/html;profile=mcp-app') throw new Error(`not a page for chats: ${mimeType}`);
}

type Transport = Parameters<AppBridge['connect']>[0];

/** Carries messages between this process and the frame of the chat: a sandbox without an origin of its own. */
async function frameTransport(chat: Page): Promise<Transport> {
  const transport: Transport = {
    start: async () => undefined,
    close: async () => undefined,
    async send(message) {
      await chat.evaluate(
        `document.querySelector('iframe').contentWindow.postMessage(${JSON.stringify(message)}, '*')`,
      );
    },
  };
  await chat.setContent('<iframe sandbox="allow-scripts" style="width:900px;height:760px;border:0"></iframe>');
  await chat.exposeFunction('toHost', (message: never) => transport.onmessage?.(message));
  await chat.evaluate(`addEventListener('message', ({ source, data }) => {
    if (source === document.querySelector('iframe').contentWindow) toHost(data);
  })`);
  return transport;
}
