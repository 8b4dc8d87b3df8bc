import * as z from 'zod';
import { APP_TOOLS, SHOW_TOOL } from './app-names.ts';
import page from './mcp-app.json' with { type: 'json' };
import type { ListedTool } from './tool-list.ts';

/**
 * The browser beside the chat, for hosts that show MCP Apps (SEP-1865): a page that the host runs in a sandbox of its own, and that calls
 * tools through it. <https://github.com/modelcontextprotocol/ext-apps/blob/main/specification/2026-01-26/apps.mdx>
 */
export const UI_EXTENSION = 'io.modelcontextprotocol/ui';
const MIME_TYPE = 'text/html;profile=mcp-app';
export const APP_URI = 'ui://omicron-browser/browser';

/** Capabilities of a server: it has apps. */
export const UI_CAPABILITY = { extensions: { [UI_EXTENSION]: {} } };
/** Capabilities of a client: it shows them. */
export const SHOWS_APPS = { extensions: { [UI_EXTENSION]: { mimeTypes: [MIME_TYPE] } } };

const uiClient = z.looseObject({
  extensions: z.looseObject({
    [UI_EXTENSION]: z.looseObject({ mimeTypes: z.array(z.string()).optional() }),
  }),
});

/** Whether a client of these capabilities shows apps. */
export function showsApps(capabilities: unknown): boolean {
  const { mimeTypes } = uiClient.safeParse(capabilities).data?.extensions[UI_EXTENSION] ?? {};
  return mimeTypes?.includes(MIME_TYPE) === true;
}

/** As MCP 2026-07-28 has a client's capabilities in the envelope of each request. */
const CAPABILITIES_META = 'io.modelcontextprotocol/clientCapabilities';

const anyEnvelope = z.looseObject({});

/** Whether the client of a request with this envelope, or `_meta`, shows apps. */
export const declaresApps = (envelope: unknown): boolean =>
  showsApps(anyEnvelope.safeParse(envelope).data?.[CAPABILITIES_META]);

const initialisation = z.object({
  method: z.literal('initialize'),
  params: z.looseObject({ capabilities: z.unknown() }),
});
const APP_SESSION = '.apps';

/** The `mcp-session-id` for a client of 2025, which states its capabilities in its first message alone; undefined: the message is another one. */
export function sessionNameFor(body: unknown): string | undefined {
  const first = initialisation.safeParse(body).data;
  return first && `${crypto.randomUUID()}${showsApps(first.params.capabilities) ? APP_SESSION : ''}`;
}

/** Whether the client that was given this `mcp-session-id` shows apps. */
export const namesApps = (sessionName: string | undefined): boolean => sessionName?.endsWith(APP_SESSION) === true;

/** As `resources/list` has it, and `resources/read` with its text. */
export const APP_RESOURCE = { uri: APP_URI, name: 'Browser', title: 'The browser, live', mimeType: MIME_TYPE } as const;

/** `origins`: where the page may open sockets. */
export const appContents = (origins: readonly string[]) => ({
  uri: APP_URI,
  mimeType: MIME_TYPE,
  text: page.html.join('\n'),
  _meta: { ui: { csp: { connectDomains: [...origins] }, permissions: { clipboardWrite: {} }, prefersBorder: true } },
});

/** Their calls open the page in the chat. */
const OPENING = new Set([SHOW_TOOL, 'browser_open', 'browser_request_user_action']);

export const isAppTool = (name: string): boolean => (Object.values(APP_TOOLS) as string[]).includes(name);

const objectSchema = (properties: Record<string, { type: string }>) => ({ type: 'object', properties }) as const;

export const SHOW: ListedTool = {
  name: SHOW_TOOL,
  title: 'Show the browser',
  description: 'Show the person the browser, live, beside the chat',
  inputSchema: objectSchema({}),
  annotations: { readOnlyHint: true },
};

const ONLY_APP = { ui: { visibility: ['app'] } };
const APP_ONLY: readonly AppTool[] = [
  {
    name: APP_TOOLS.socket,
    title: 'Live view by a socket',
    description: "Address of the page's live view",
    inputSchema: objectSchema({}),
    annotations: { readOnlyHint: true },
    _meta: ONLY_APP,
  },
  {
    name: APP_TOOLS.exchange,
    title: 'Live view by calls',
    description: 'Input of the person, and news of the browser',
    inputSchema: objectSchema({
      viewer: { type: 'string' },
      say: { type: 'array' },
      wait_ms: { type: 'integer' },
    }),
    annotations: { destructiveHint: true },
    _meta: ONLY_APP,
  },
  {
    name: APP_TOOLS.answer,
    title: 'Answer the agent',
    description: 'The person has done what the agent asked, or declines',
    inputSchema: objectSchema({ id: { type: 'string' }, status: { type: 'string' } }),
    annotations: { destructiveHint: true },
    _meta: ONLY_APP,
  },
];

/** A tool as any list has it. */
interface AnyTool {
  readonly name: string;
  readonly _meta?: Record<string, unknown> | undefined;
}
export type AppTool = ListedTool & Pick<AnyTool, '_meta'>;

/** The list for a client that shows apps: with what opens the page, and the page's own tools. */
export const withApp = <T extends AnyTool>(tools: readonly T[]): (T | AppTool)[] => [
  ...[...tools, SHOW].map((tool: T | AppTool) =>
    OPENING.has(tool.name) ? { ...tool, _meta: { ...tool._meta, ui: { resourceUri: APP_URI } } } : tool,
  ),
  ...APP_ONLY,
];
