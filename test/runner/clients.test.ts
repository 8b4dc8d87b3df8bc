import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Site, startSite } from '../site/site.ts';
import { CLIENTS, MODERN } from './mcp-clients.ts';
import { type LeasedRunner, startLease } from './start-lease.ts';

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

const address = () => ({ mcpUrl: `${lease.runner.url}/mcp`, headers });

describe.each(Object.entries(CLIENTS))('a client of %s', (_name, { version, start }) => {
  test('[M1] speaks its protocol, lists and calls on the one URL, and reads what failed', async () => {
    const client = await start(address());
    expect(client.version).toBe(version);
    expect(await client.tools()).toContain('browser_navigate');
    expect(await client.call('browser_navigate', { url: site.url })).toMatchObject({
      text: expect.stringContaining('Welcome'),
      isError: false,
    });
    expect(await client.call('browser_click', { target: 'e99999' })).toMatchObject({ isError: true });
    await client.close();
  });
});

const metaOf = (version: string) => ({
  'io.modelcontextprotocol/protocolVersion': version,
  'io.modelcontextprotocol/clientCapabilities': {},
});
const META = metaOf(MODERN);

async function post(message: { method: string; params?: object }, given: Record<string, string>, meta: object = META) {
  const response = await fetch(address().mcpUrl, {
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

test('server/discover says what is served, without a handshake', async () => {
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

test('a client of 2025-03-26 may send its cancellation among other messages', async () => {
  const send = (body: object) =>
    fetch(address().mcpUrl, {
      method: 'POST',
      headers: {
        ...headers,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2025-03-26',
        'mcp-session-id': 'agent',
      },
      body: JSON.stringify(body),
    });
  const params = { name: 'browser_wait_for', arguments: { time: 25 }, _meta: { progressToken: 1 } };
  const call = await send({ jsonrpc: '2.0', id: 7, method: 'tools/call', params });
  const cancellation = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 7 } };
  await send([cancellation, { jsonrpc: '2.0', id: 8, method: 'ping' }]);
  expect(await call.text()).toContain('call_cancelled');
});
