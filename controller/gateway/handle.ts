import type { IncomingHttpHeaders } from 'node:http';
import * as z from 'zod';

/** The argument of every tool by which an agent names its conversation (SEP-2567). */
export const HANDLE = 'sessionId';
/** Clients of 2026-07-28 repeat the handle in this header (SEP-2243), `Mcp-Param-Session`. */
export const HANDLE_HEADER_NAME = 'Session';
const HANDLE_HEADER = 'mcp-param-session';
/** The conversation of calls without a handle. */
export const DEFAULT_HANDLE = 'default';

/** A call of a tool, as JSON-RPC writes it. */
export const toolCall = z.looseObject({
  jsonrpc: z.literal('2.0'),
  id: z.union([z.string(), z.number()]),
  method: z.literal('tools/call'),
  params: z.looseObject({ name: z.string(), arguments: z.record(z.string(), z.unknown()).optional() }),
});
export type ToolCallMessage = z.infer<typeof toolCall>;

/** The handle of a call; undefined: it has none. A value that is no text is returned as it is, to be refused. */
export const handleOf = ({ params }: ToolCallMessage): unknown => params.arguments?.[HANDLE] ?? undefined;

/** For the runner, which knows its one session: to it the handle would be that of another. */
export function withoutHandle(call: ToolCallMessage): ToolCallMessage {
  const { [HANDLE]: _handle, ...rest } = call.params.arguments ?? {};
  return { ...call, params: { ...call.params, arguments: rest } };
}

/**
 * The contradiction between header and body; undefined: nothing. A proxy that routes or limits by the header must see the
 * conversation that is served. Clients know of the header from the list: tools that are not `listed` come without it.
 */
export function headerMismatch(
  call: ToolCallMessage,
  headers: IncomingHttpHeaders,
  listed: ReadonlySet<string>,
): string | undefined {
  const written = headers[HANDLE_HEADER];
  const handle = handleOf(call);
  if (written === undefined)
    return handle === undefined || !isModern(headers) || !listed.has(call.params.name)
      ? undefined
      : 'Mcp-Param-Session is missing';
  const decoded = typeof written === 'string' ? decodedHeader(written) : undefined;
  return decoded !== undefined && decoded === handle ? undefined : `Mcp-Param-Session is not the argument ${HANDLE}`;
}

/** Revisions are dates: <https://modelcontextprotocol.io/specification/versioning>. */
export const isModern = (headers: IncomingHttpHeaders): boolean =>
  String(headers['mcp-protocol-version'] ?? '') >= '2026-07-28';

/** Text that a header cannot carry is in base64, between `=?base64?` and `?=` (SEP-2243). */
function decodedHeader(value: string): string | undefined {
  const encoded = /^=\?base64\?(.*)\?=$/.exec(value)?.[1];
  if (encoded === undefined) return value;
  const bytes = Buffer.from(encoded, 'base64');
  const text = bytes.toString('utf8');
  return bytes.toString('base64') === encoded && Buffer.from(text).equals(bytes) ? text : undefined;
}
