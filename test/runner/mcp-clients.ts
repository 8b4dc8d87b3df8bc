import { Client as ClientV2, StreamableHTTPClientTransport as TransportV2 } from '@modelcontextprotocol/client';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { AnyClient, CallAnswer, McpAddress } from './any-client.ts';
import { type PythonKind, pythonClient } from './python-client.ts';

export const MODERN = '2026-07-28';
const INFO = { name: 'test', version: '1' };

/** The common part of the two SDKs of TypeScript. */
const answerOf = ({ content, isError }: Readonly<Record<string, unknown>>): CallAnswer => ({
  text: (content as { text?: string }[]).map(({ text = '' }) => text).join('\n'), // the tool-result shape of the protocol
  isError: isError === true,
});

/** A `fetch` whose connections end with the signal, as those of a program that is killed. */
const fetchUntil = (gone: AbortSignal) => (input: string | URL, init?: RequestInit) =>
  fetch(input, { ...init, signal: init?.signal ? AbortSignal.any([init.signal, gone]) : gone });

async function v1({ mcpUrl, headers }: McpAddress): Promise<AnyClient> {
  const gone = new AbortController();
  const client = new ClientV1(INFO);
  const transport = new TransportV1(new URL(mcpUrl), {
    requestInit: { headers: { ...headers } },
    fetch: fetchUntil(gone.signal),
  });
  await client.connect(transport as Parameters<ClientV1['connect']>[0]);
  return {
    version: transport.protocolVersion,
    tools: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, args, signal) =>
      answerOf(await client.callTool({ name, arguments: args }, undefined, { ...(signal && { signal }) })),
    vanish: async () => gone.abort(),
    close: () => client.close(),
  };
}

type V2Options = ConstructorParameters<typeof ClientV2>[1];

export async function v2({ mcpUrl, headers }: McpAddress, options: V2Options = {}): Promise<AnyClient> {
  const gone = new AbortController();
  const client = new ClientV2(INFO, options);
  await client.connect(
    new TransportV2(new URL(mcpUrl), { requestInit: { headers: { ...headers } }, fetch: fetchUntil(gone.signal) }),
  );
  return {
    version: client.getNegotiatedProtocolVersion(),
    tools: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, args, signal) =>
      answerOf(await client.callTool({ name, arguments: args }, { ...(signal && { signal }) })),
    vanish: async () => gone.abort(),
    close: () => client.close(),
  };
}

const python = (kind: PythonKind) => (address: McpAddress) => pythonClient(kind, address);

interface ClientKind {
  readonly version: string;
  readonly start: (address: McpAddress) => Promise<AnyClient>;
}

/** Every client that is supported, by its name. */
export const CLIENTS: Readonly<Record<string, ClientKind>> = {
  'the TypeScript SDK v1': { version: '2025-11-25', start: v1 },
  'the TypeScript SDK v2': { version: '2025-11-25', start: v2 },
  'the TypeScript SDK v2, which asks': {
    version: MODERN,
    start: at => v2(at, { versionNegotiation: { mode: 'auto' } }),
  },
  'the TypeScript SDK v2, pinned': {
    version: MODERN,
    start: at => v2(at, { versionNegotiation: { mode: { pin: MODERN } } }),
  },
  'Python mcp 1': { version: '2025-11-25', start: python('mcp_1') },
  'Python mcp 2': { version: MODERN, start: python('mcp_2') },
  'Python mcp 2, legacy': { version: '2025-11-25', start: python('mcp_2_legacy') },
  'openai-agents': { version: MODERN, start: python('agents') },
};
