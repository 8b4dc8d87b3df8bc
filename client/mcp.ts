import * as z from 'zod';
import { OmicronError, PROBLEM_TYPE, problemSchema } from '../contract/problem.ts';
import { mayHaveBeenSent } from './may-have-been-sent.ts';

/** The revision that is asked for: <https://modelcontextprotocol.io/specification/2025-11-25/basic/transports>. */
const PROTOCOL_VERSION = '2025-11-25';
const SESSION_HEADER = 'mcp-session-id';
const CLIENT = { name: 'omicron-browser', version: '0.1.0' };
/** JSON-RPC: the request was at fault (invalid request, unknown method, invalid params). */
const REQUEST_ERRORS = [-32600, -32601, -32602];

const tool = z.looseObject({
  name: z.string(),
  description: z.string().optional(),
  /** JSON Schema of its arguments. */
  inputSchema: z.record(z.string(), z.unknown()),
});
export type Tool = z.infer<typeof tool>;

const toolContent = z.looseObject({
  /** `text`, `image`, ... */
  type: z.string(),
  text: z.string().optional(),
  /** Base64. */
  data: z.string().optional(),
  mimeType: z.string().optional(),
});
export type ToolContent = z.infer<typeof toolContent>;

export interface ToolResult {
  readonly content: readonly ToolContent[];
  /** The parts of `content` that are text, a line each: what a model reads. */
  readonly text: string;
  /** The tool failed; `text` says why. */
  readonly isError: boolean;
  /** For programs, where the tool answers it: values, codes of refusals. */
  readonly structuredContent?: Readonly<Record<string, unknown>>;
  /** MCP's `_meta`: addresses of kept pages, pictures, warnings (docs/tools.md). */
  readonly _meta?: Readonly<Record<string, unknown>>;
}

const initialized = z.object({ protocolVersion: z.string(), instructions: z.string().default('') });
const toolPage = z.object({ tools: z.array(tool), nextCursor: z.string().optional() });
const callResult = z.object({
  content: z.array(toolContent),
  isError: z.boolean().default(false),
  structuredContent: z.record(z.string(), z.unknown()).optional(),
  _meta: z.record(z.string(), z.unknown()).optional(),
});
const answered = z.union([
  z.object({ id: z.number(), result: z.unknown() }),
  z.object({ id: z.number(), error: z.object({ code: z.number(), message: z.string() }) }),
]);

/** The part of MCP that is needed to use a browser: its tools. Calls throw OmicronError; an aborted `signal` throws its reason. */
export interface McpConnection {
  readonly tools: readonly Tool[];
  /** How to log in and how to treat web content, for the agent's prompt. */
  readonly instructions: string;
  callTool(name: string, args: Record<string, unknown>, signal: AbortSignal): Promise<ToolResult>;
}

export interface McpAddress {
  readonly mcpUrl: string;
  /** Read for each request: they may change. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Connects to an MCP endpoint (Streamable HTTP) and lists its tools. */
export async function connectMcp(
  address: McpAddress,
  fetch: typeof globalThis.fetch,
  connectSignal: AbortSignal,
): Promise<McpConnection> {
  const { mcpUrl } = address;
  let agreed: Record<string, string> = {};
  let lastId = 0;

  async function post(message: object, signal: AbortSignal): Promise<Response> {
    const response = await fetch(mcpUrl, {
      method: 'POST',
      headers: {
        ...address.headers,
        ...agreed,
        'content-type': 'application/json',
        accept: `application/json, text/event-stream, ${PROBLEM_TYPE}`,
      },
      body: JSON.stringify({ jsonrpc: '2.0', ...message }),
      redirect: 'error',
      signal,
    }).catch((cause: unknown) => {
      signal.throwIfAborted();
      throw unreachableError(mcpUrl, cause);
    });
    if (!response.ok) throw await parseRefusal(mcpUrl, response);
    return response;
  }

  async function request<Result>(method: string, params: object, result: z.ZodType<Result>, signal: AbortSignal) {
    const id = ++lastId;
    const response = await post({ id, method, params }, signal);
    const text = await response.text().catch((cause: unknown) => {
      signal.throwIfAborted();
      throw unreachableError(mcpUrl, cause);
    });
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') ?? false;
    const message = messagesOf(text, isStream)
      .map(each => answered.safeParse(each).data)
      .find(each => each?.id === id);
    if (message === undefined) throw garbledError(mcpUrl, method);
    if ('error' in message) {
      const code = REQUEST_ERRORS.includes(message.error.code) ? 'invalid_request' : 'internal_error';
      throw new OmicronError(code, `${method}: ${message.error.message}`);
    }
    const parsed = result.safeParse(message.result);
    if (!parsed.success) throw garbledError(mcpUrl, method, parsed.error);
    return { result: parsed.data, response };
  }

  const hello = { protocolVersion: PROTOCOL_VERSION, capabilities: {}, clientInfo: CLIENT };
  const { result, response } = await request('initialize', hello, initialized, connectSignal);
  const session = response.headers.get(SESSION_HEADER);
  agreed = {
    'mcp-protocol-version': result.protocolVersion,
    ...(session === null ? {} : { [SESSION_HEADER]: session }),
  };
  await post({ method: 'notifications/initialized' }, connectSignal);

  const tools: Tool[] = [];
  let cursor: string | undefined;
  do {
    const page = (await request('tools/list', cursor === undefined ? {} : { cursor }, toolPage, connectSignal)).result;
    tools.push(...page.tools);
    cursor = page.nextCursor;
  } while (cursor !== undefined);

  return {
    tools,
    instructions: result.instructions,
    async callTool(name, args, signal) {
      const { result } = await request('tools/call', { name, arguments: args }, callResult, signal);
      const { content, isError, structuredContent, _meta } = result;
      const text = content.flatMap(({ text }) => (text === undefined ? [] : [text])).join('\n');
      return { content, text, isError, ...(structuredContent && { structuredContent }), ...(_meta && { _meta }) };
    },
  };
}

/** JSON-RPC messages of an answer: one, or the `data` of each event of a stream. */
function messagesOf(text: string, isStream: boolean): unknown[] {
  const documents = isStream ? text.split(/\r?\n\r?\n/).map(dataOf) : [text];
  try {
    return documents.filter(document => document !== '').map(document => JSON.parse(document));
  } catch {
    return [];
  }
}

/** <https://html.spec.whatwg.org/multipage/server-sent-events.html> */
const dataOf = (event: string): string =>
  event
    .split(/\r?\n/)
    .filter(line => line.startsWith('data:'))
    .map(line => line.slice('data:'.length).trimStart())
    .join('\n');

/** A call that may have run is not for this client to repeat. */
function unreachableError(mcpUrl: string, error: unknown): OmicronError {
  const why = mayHaveBeenSent(error)
    ? `The connection to the browser at ${mcpUrl} broke. A call that was running may have had its effect: acquire the lease again, and look at the page before you repeat it.`
    : `The browser at ${mcpUrl} cannot be reached, and nothing was done; acquire the lease again, and check that this machine reaches that address.`;
  return new OmicronError('browser_unreachable', why, { cause: error });
}

const garbledError = (mcpUrl: string, method: string, cause?: unknown) =>
  new OmicronError(
    'internal_error',
    `The answer of ${mcpUrl} to ${method} was not understood; check that it is the address of an MCP endpoint.`,
    { cause },
  );

async function parseRefusal(mcpUrl: string, response: Response): Promise<OmicronError> {
  const problem = problemSchema.safeParse(await response.json().catch(() => undefined));
  if (problem.success) return OmicronError.fromProblem(problem.data);
  if (response.status >= 500) return unreachableError(mcpUrl, new Error(`HTTP ${response.status}`));
  return new OmicronError(
    'internal_error',
    `${mcpUrl} answered ${response.status}; acquire the lease again, and check that it is the address of an MCP endpoint.`,
  );
}
