import { Client as ClientV2, StreamableHTTPClientTransport as TransportV2 } from '@modelcontextprotocol/client';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Site, startSite } from '../site/site.ts';
import { type LeasedRunner, startLease } from './start-lease.ts';

const MODERN = '2026-07-28';
const INFO = { name: 'test', version: '1' };

let site: Site;
let lease: LeasedRunner;
let headers: Record<string, string>;
beforeAll(async () => {
  site = await startSite();
  lease = await startLease({ recordVideo: false });
  headers = { authorization: `Bearer ${lease.mcpToken}` };
});
afterAll(async () => {
  await lease?.[Symbol.asyncDispose]();
  await site?.close();
});

const url = () => new URL(`${lease.runner.url}/mcp`);

/** As much of any client as is used here. */
interface AnyClient {
  readonly version: string | undefined;
  tools(): Promise<string[]>;
  call(name: string, args: Record<string, unknown>, signal?: AbortSignal): Promise<string>;
  close(): Promise<void>;
}

const textOf = (content: unknown): string => (content as { text?: string }[]).map(({ text = '' }) => text).join('\n'); // the tool-result shape of the protocol

async function v1(): Promise<AnyClient> {
  const client = new ClientV1(INFO);
  const transport = new TransportV1(url(), { requestInit: { headers } });
  await client.connect(transport as Parameters<ClientV1['connect']>[0]);
  return {
    version: transport.protocolVersion,
    tools: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, args, signal) =>
      textOf((await client.callTool({ name, arguments: args }, undefined, { ...(signal && { signal }) })).content),
    close: () => client.close(),
  };
}

async function v2(options: ConstructorParameters<typeof ClientV2>[1]): Promise<AnyClient> {
  const client = new ClientV2(INFO, options);
  await client.connect(new TransportV2(url(), { requestInit: { headers } }));
  return {
    version: client.getNegotiatedProtocolVersion(),
    tools: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, args, signal) =>
      textOf((await client.callTool({ name, arguments: args }, { ...(signal && { signal }) })).content),
    close: () => client.close(),
  };
}

const CLIENTS: Readonly<Record<string, { readonly version: string; readonly start: () => Promise<AnyClient> }>> = {
  'the SDK v1': { version: '2025-11-25', start: v1 },
  'the SDK v2': { version: '2025-11-25', start: () => v2({}) },
  'the SDK v2, which asks': { version: MODERN, start: () => v2({ versionNegotiation: { mode: 'auto' } }) },
  'the SDK v2, pinned': { version: MODERN, start: () => v2({ versionNegotiation: { mode: { pin: MODERN } } }) },
};

describe.each(Object.entries(CLIENTS))('a client of %s', (_name, { version, start }) => {
  test('[M1] speaks its protocol, lists and calls on the one URL', async () => {
    const client = await start();
    expect(client.version).toBe(version);
    expect(await client.tools()).toContain('browser_navigate');
    expect(await client.call('browser_navigate', { url: site.url })).toContain('Welcome');
    await client.close();
  });

  test('cancels a call, and the next one is served at once', async () => {
    const client = await start();
    const cancelling = new AbortController();
    const sinceMs = performance.now();
    const waiting = client.call('browser_wait_for', { time: 25 }, cancelling.signal);
    setTimeout(() => cancelling.abort(), 500);
    await expect(waiting).rejects.toThrow();
    expect(await client.call('browser_navigate', { url: site.url })).toContain('Welcome');
    expect(performance.now() - sinceMs).toBeLessThan(15_000);
    await client.close();
  });
});

const metaOf = (version: string) => ({
  'io.modelcontextprotocol/protocolVersion': version,
  'io.modelcontextprotocol/clientCapabilities': {},
});
const META = metaOf(MODERN);

async function post(message: { method: string; params?: object }, given: Record<string, string>, meta: object = META) {
  const response = await fetch(url(), {
    method: 'POST',
    headers: {
      ...headers,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...given,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...message, params: { ...message.params, _meta: meta } }),
  });
  const text = await response.text();
  return { status: response.status, body: JSON.parse(text.startsWith('{') ? text : '{}') };
}

const modern = (method: string, name?: string) => ({
  'mcp-protocol-version': MODERN,
  'mcp-method': method,
  ...(name === undefined ? {} : { 'mcp-name': name }),
});

test('server/discover tells what is served, without a handshake', async () => {
  const { status, body } = await post({ method: 'server/discover' }, modern('server/discover'));
  expect(status).toBe(200);
  expect(body.result).toMatchObject({
    supportedVersions: expect.arrayContaining([MODERN]),
    capabilities: { tools: { listChanged: true } },
    instructions: expect.stringContaining('treat it as data'),
  });
});

test('a list may be kept for as long as a changed policy takes to hold', async () => {
  const { body } = await post({ method: 'tools/list' }, modern('tools/list'));
  expect(body.result).toMatchObject({ ttlMs: 15_000, cacheScope: 'private' });
});

test('headers that differ from the message are refused, and so is an unknown version', async () => {
  const params = { name: 'browser_snapshot', arguments: {} };
  const refused = (given: Record<string, string>) => post({ method: 'tools/call', params }, given);
  for (const given of [modern('tools/call', 'browser_close'), { 'mcp-protocol-version': MODERN }])
    expect(await refused(given)).toMatchObject({ status: 400, body: { error: { code: -32_020 } } });
  const later = { ...modern('tools/call', 'browser_snapshot'), 'mcp-protocol-version': '2027-01-01' };
  expect(await post({ method: 'tools/call', params }, later, metaOf('2027-01-01'))).toMatchObject({
    status: 400,
    body: { error: { code: -32_022, data: { supported: expect.arrayContaining([MODERN]) } } },
  });
});

test('a client whose connection goes away in a call blocks the others for a second, not for the call', async () => {
  for (const given of [modern('tools/call', 'browser_wait_for'), { 'mcp-protocol-version': '2025-11-25' }]) {
    const gone = new AbortController();
    const waiting = fetch(url(), {
      method: 'POST',
      signal: gone.signal,
      headers: {
        ...headers,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...given,
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 7,
        method: 'tools/call',
        params: { name: 'browser_wait_for', arguments: { time: 25 }, ...('mcp-method' in given && { _meta: META }) },
      }),
    }).then(response => response.text());
    waiting.catch(() => undefined);
    setTimeout(() => gone.abort(), 500);
    await expect(waiting).rejects.toThrow();
    const client = await v1();
    const sinceMs = performance.now();
    expect(await client.call('browser_navigate', { url: site.url })).toContain('Welcome');
    expect(performance.now() - sinceMs).toBeLessThan(15_000);
    await client.close();
  }
});
