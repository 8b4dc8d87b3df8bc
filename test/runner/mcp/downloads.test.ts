import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type CallToolResult, Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ENV, NO_LINKS_HEADER } from '../../../contract/names.ts';
import { eventually } from '../../eventually.ts';
import { type LeasedRunner, startLease } from '../start-lease.ts';

const PASSWORD = 'correct horse "battery" & staple';
const FILES: Readonly<Record<string, Buffer>> = {
  'report.txt': Buffer.from('all is well'),
  'data.bin': Buffer.from([0, 255, 254, 1]),
  'large.txt': Buffer.alloc(1024 * 1024 + 1, 'x'),
  'leak.txt': Buffer.from(`the password is ${PASSWORD}`),
};
const PAGE = `<!doctype html><title>Files</title>${Object.keys(FILES).map(name => `<a id="${name.replace('.', '-')}" href="/${name}" download>${name}</a>`)}
<form action="/sent"><input id=user name=user><input id=password type=password><button>Go</button></form>`;

let site: Server;
let url: string;
let lease: LeasedRunner;
let client: Client;
beforeAll(async () => {
  site = createServer((request, response) => {
    const file = FILES[request.url?.slice(1) ?? ''];
    response.setHeader('content-type', file === undefined ? 'text/html' : 'application/octet-stream');
    response.end(file ?? PAGE);
  });
  await once(site.listen(0, '127.0.0.1'), 'listening');
  url = `http://127.0.0.1:${(site.address() as AddressInfo).port}/`; // a TCP server has a port
  lease = await startLease({ env: { [ENV.insecureLoginOrigins]: new URL(url).origin } });
  client = await connect({});
  await client.callTool({ name: 'browser_navigate', arguments: { url } });
});
afterAll(async () => {
  await client?.close();
  await lease?.[Symbol.asyncDispose]();
  site?.closeAllConnections();
  site?.close();
});

async function connect(headers: Record<string, string>): Promise<Client> {
  const connected = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' } });
  const requestInit = { headers: { authorization: `Bearer ${lease.mcpToken}`, ...headers } };
  await connected.connect(new StreamableHTTPClientTransport(new URL(`${lease.runner.url}/mcp`), { requestInit }));
  return connected;
}

/** The links of results until the file has arrived. */
async function downloaded(name: string, by = client): Promise<CallToolResult['content']> {
  const first = await by.callTool({ name: 'browser_click', arguments: { target: `#${name.replace('.', '-')}` } });
  const content = [...first.content];
  for (let n = 0; n < 20 && !JSON.stringify(content).includes(`Downloaded file ${name}`); n += 1) {
    const more = await by.callTool({ name: 'browser_wait_for', arguments: { time: 0.2 } });
    content.push(...more.content);
  }
  expect(JSON.stringify(content)).toContain(`Downloaded file ${name}`);
  return content.filter(({ type }) => type === 'resource_link');
}

test('a result links to a file that was downloaded, and the file can be read', async () => {
  const [link, ...others] = await downloaded('report.txt');
  expect(others).toEqual([]);
  expect(link).toMatchObject({ name: 'report.txt', mimeType: 'text/plain', size: 11 });
  const uri = link?.type === 'resource_link' ? link.uri : '';
  const read = await client.readResource({ uri });
  expect(read.contents).toEqual([{ uri, mimeType: 'text/plain', text: 'all is well' }]);
  expect(read._meta).toMatchObject({ 'omicron.dev/untrusted': true });
  expect((await client.listResources()).resources.map(({ name }) => name)).toEqual(['report.txt']);
  await expect(client.readResource({ uri: 'file:///etc/passwd' })).rejects.toThrow('not a file to be read');
  const outcomes = await eventually('both reads in the timeline', () => {
    const reads = lease.controller.events.filter(({ data }) => data.tool === 'resources/read');
    return reads.length === 2 && reads.map(({ data }) => data.outcome);
  });
  expect(outcomes).toEqual(['ok', 'error']);
});

test('no result links to what cannot be read: a file that is too large, for a client that reads none', async () => {
  expect(await downloaded('large.txt')).toEqual([]);
  const old = await connect({ [NO_LINKS_HEADER]: '1' });
  expect(await downloaded('report.txt', old)).toEqual([]);
  await old.close();
});

test('once a credential was filled in, text is read without it, and bytes are not read', async () => {
  const [bytes] = await downloaded('data.bin');
  const uri = bytes?.type === 'resource_link' ? bytes.uri : '';
  const { contents } = await client.readResource({ uri });
  expect(contents).toMatchObject([{ blob: FILES['data.bin']?.toString('base64') }]);
  const filled = await client.callTool({
    name: 'browser_type',
    arguments: { target: '#password', text: 'SHOP_PASSWORD' },
  });
  expect(filled.isError).toBeUndefined();
  await expect(client.readResource({ uri })).rejects.toThrow('not a file to be read');
  expect((await client.listResources()).resources.map(({ name }) => name)).not.toContain('data.bin');
  // A file of the page that was filled may be made of the value, in a form that is not known.
  expect(await downloaded('report.txt')).toEqual([]);
  await client.callTool({ name: 'browser_navigate', arguments: { url } });
  const [link] = await downloaded('leak.txt');
  const leak = await client.readResource({ uri: link?.type === 'resource_link' ? link.uri : '' });
  expect(JSON.stringify(leak)).not.toContain('horse');
  expect(JSON.stringify(leak)).toContain('SHOP_PASSWORD');
});
