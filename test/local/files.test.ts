import { once } from 'node:events';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basename, join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { BrowserSessions } from '../../client/browser-sessions.ts';
import type { Lease } from '../../client/lease.ts';
import { ENV } from '../../contract/names.ts';
import { serviceKey, signServiceToken } from '../../contract/tokens.ts';
import { connectMcpBrowser, type McpBrowser } from '../../local/mcp-browser.ts';
import { type Stack, startStack } from '../../local/stack.ts';
import { runHere } from '../cli/run-here.ts';
import { eventually } from '../eventually.ts';
import { migratedDatabaseUrl } from '../postgres.ts';
import { pdfOf } from '../site/pdf.ts';
import { newFolder, shell } from './machine.ts';

const INVOICE = pdfOf('Invoice 4711', 'Total 12.50');
const LETTER = 'Sehr geehrte Frau Löwe';
const PAGE = `<!doctype html><meta charset=utf-8><title>Office</title><a id=invoice href="/invoice.pdf" download>Invoice</a>
<form method=post action="/sent" enctype="multipart/form-data"><input id=file type=file name=file><button id=send>Send</button></form>`;

let site: Server;
let sent = '';
let folder: string;
let stack: Stack;
let sessions: BrowserSessions;
let lease: Lease;
let browser: McpBrowser;
beforeAll(async () => {
  site = createServer(async (request, response) => {
    if (request.method === 'POST') sent = (await buffer(request)).toString('utf8');
    const isPdf = request.url === '/invoice.pdf';
    response.setHeader('content-type', isPdf ? 'application/pdf' : 'text/html');
    response.end(isPdf ? INVOICE : PAGE);
  });
  await once(site.listen(0, '127.0.0.1'), 'listening');
  folder = await newFolder();
  stack = await startStack({
    folder,
    log: pino({ level: 'silent' }),
    databaseUrl: await migratedDatabaseUrl(),
    egress: { allowedCidrs: ['127.0.0.1/32'] },
    settings: { [ENV.reapSeconds]: '1' },
    runnerEnv: { ...shell(), [ENV.fileMb]: '1', [ENV.filesMb]: '2', [ENV.filesMax]: '4' },
  });
  sessions = new BrowserSessions(stack);
  const { port } = site.address() as AddressInfo; // a TCP server has one
  await sessions.putPolicy({}, { version: 1, sites: { ports: [port] } });
  lease = await sessions.acquire({ userId: 'ada', conversationId: 'files', recordVideo: false, keepFiles: 'all' });
  browser = await connectMcpBrowser(lease);
  await browser.call('browser_navigate', { url: `http://127.0.0.1:${port}/` });
});
afterAll(async () => {
  await browser?.[Symbol.asyncDispose]();
  await stack?.stop();
  site?.close();
  await rm(folder, { recursive: true, force: true });
});

const cli = async (...args: string[]) => {
  const { code, stdout, stderr } = await runHere(['--folder', folder, ...args], { environment: shell() });
  return code === 0 ? JSON.parse(stdout) : { code, stderr };
};

/** A call of the API without the SDK. */
async function call(path: string, init: RequestInit & { userId?: string } = {}): Promise<Response> {
  const token = await signServiceToken(serviceKey(stack.serviceSecret), init.userId);
  const headers = { authorization: `Bearer ${token}`, ...init.headers };
  return fetch(`${stack.url}/internal/browser-sessions/${lease.sessionId}/files${path}`, { ...init, headers });
}
const codeOf = async (answer: Response): Promise<unknown> => [
  answer.status,
  ((await answer.json()) as { code: string }).code,
];

it('[B1] brings files in, uploads them by name, reads what was downloaded, and keeps all of it after the end where asked', async () => {
  const letter = join(folder, 'letter to Löwe.txt');
  await writeFile(letter, LETTER);
  expect(await cli('file', 'put', letter, lease.sessionId)).toMatchObject({
    name: 'letter to Löwe.txt',
    source: 'upload',
  });

  await browser.call('browser_click', { target: '#file' });
  const uploaded = await browser.call('browser_file_upload', { paths: ['letter to Löwe.txt'] });
  expect(uploaded.text).not.toContain('/tmp');
  await browser.call('browser_click', { target: '#send' });
  await eventually('the site to have the file', () => sent !== '');
  expect(sent).toContain('filename="letter to Löwe.txt"');
  expect(sent).toContain(LETTER);

  await browser.call('browser_click', { target: '#invoice' });
  const listed = await eventually('the download', async () => {
    const { text } = await browser.call('browser_file_list');
    return text.includes('invoice.pdf') && JSON.parse(text).files;
  });
  expect(listed).toEqual([
    { name: 'letter to Löwe.txt', source: 'upload', bytes: Buffer.byteLength(LETTER), mimeType: 'text/plain' },
    { name: 'invoice.pdf', source: 'download', bytes: INVOICE.length, mimeType: 'application/pdf' },
  ]);
  const pdf = JSON.parse((await browser.call('browser_file_read', { name: 'invoice.pdf' })).text);
  expect(pdf.content).toMatch(/^\[page 1 of 1\]\nInvoice 4711\s+Total 12\.50$/);
  const part = await browser.call('browser_file_read', { name: 'letter to Löwe.txt', offset: 18 });
  expect(JSON.parse(part.text).content).toBe('Löwe');
  await expect(browser.call('browser_file_read', { name: '../keys.json' })).rejects.toThrow('file_not_found');

  const files = [
    {
      name: 'letter to Löwe.txt',
      source: 'upload',
      bytes: Buffer.byteLength(LETTER),
      mime_type: 'text/plain',
      epoch: 1,
    },
    { name: 'invoice.pdf', source: 'download', bytes: INVOICE.length, mime_type: 'application/pdf', epoch: 1 },
  ];
  const readable = async () => {
    const { files: found } = await cli('file', 'list', '--user', 'ada', '--conversation', 'files');
    expect(found).toHaveLength(2);
    expect(found).toEqual(expect.arrayContaining(files));
    expect(Buffer.from(await sessions.readFile(lease.sessionId, 'invoice.pdf'))).toEqual(INVOICE);
    expect(Buffer.from(await sessions.readFile(lease.sessionId, 'invoice.pdf', { end: 7 })).toString()).toBe(
      '%PDF-1.4',
    );
    const ranged = await call('/invoice.pdf', { headers: { range: 'bytes=-5' } });
    expect(ranged.status).toBe(206);
    expect(ranged.headers.get('content-range')).toBe(
      `bytes ${INVOICE.length - 5}-${INVOICE.length - 1}/${INVOICE.length}`,
    );
    expect(ranged.headers.get('content-disposition')).toBe("attachment; filename*=UTF-8''invoice.pdf");
    expect(Buffer.from(await ranged.arrayBuffer())).toEqual(INVOICE.subarray(-5));
    expect((await call('/invoice.pdf', { headers: { range: 'bytes=99999-' } })).status).toBe(416);
  };
  await readable();

  await lease.end();
  await eventually('both files to be kept', async () => {
    const artifacts = await sessions.listArtifacts(lease.sessionId);
    return artifacts.filter(({ kind, state }) => kind === 'file' && state === 'stored').length === 2;
  });
  await readable();
  const to = join(folder, 'fetched.pdf');
  expect(await cli('file', 'get', 'invoice.pdf', lease.sessionId, '--to', to)).toMatchObject({ bytes: INVOICE.length });
  expect(await readFile(to)).toEqual(INVOICE);
  expect(await cli('file', 'get', 'invoice.pdf', lease.sessionId, '--to', to)).toMatchObject({ code: 2 });
  const events = (await sessions.listEvents(lease.sessionId)).events.filter(({ kind }) => kind === 'file.added');
  expect(events.map(({ data }) => data)).toEqual(files.map(({ name, source, bytes }) => ({ name, source, bytes })));
  expect(await codeOf(await call('/late.txt', { method: 'PUT', body: 'late' }))).toEqual([409, 'lease_ended']);
});

it('[E2] removes files with their session, except those that its lease keeps by name', async () => {
  const request = { userId: 'ada', conversationId: 'gone', recordVideo: false };
  lease = await sessions.acquire({ ...request, keepFiles: ['kept.txt'] });
  const { sessionId } = lease;
  for (const name of ['kept.txt', 'gone.txt']) await sessions.putFile(sessionId, name, Buffer.from(name));
  const rows = () => sessions.listArtifacts(sessionId);
  const held = async () => {
    const found = await readdir(join(folder, 'artifacts'), { recursive: true });
    return found.filter(path => path.includes(sessionId) && path.endsWith('.txt')).map(path => basename(path));
  };
  await lease.end(); // files are stored after it
  await eventually('both reports', async () => (await rows()).length === 2);
  expect((await sessions.listFiles(sessionId)).map(({ name }) => name)).toEqual(['kept.txt']);
  await expect(sessions.readFile(sessionId, 'gone.txt')).rejects.toMatchObject({ code: 'file_not_found' });
  expect(await rows()).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ name: 'uploads/kept.txt', state: 'stored' }),
      expect.objectContaining({ name: 'uploads/gone.txt', state: 'expired', reason: 'session_ended' }),
    ]),
  );
  await eventually('the other file to be removed', async () => (await held()).join() === 'kept.txt', 20_000);
  expect(Buffer.from(await sessions.readFile(sessionId, 'kept.txt')).toString()).toBe('kept.txt');
});

it('refuses names that lead elsewhere, other content under a name, and what is too much', async () => {
  lease = await sessions.acquire({ userId: 'ada', conversationId: 'refused', recordVideo: false });
  const put = (path: string, body: string | Buffer<ArrayBuffer>, userId?: string) =>
    call(path, { method: 'PUT', body, ...(userId && { userId }) });
  for (const name of ['..%2Fkeys.json', '%2e%2e%2f%2e%2e%2fkeys.json', '.upload', 'a%5Cb', 'a%00b', 'x'.repeat(201)])
    expect(await codeOf(await put(`/${name}`, 'x')), name).toEqual([400, 'invalid_request']);
  expect((await put('/a.txt', 'one')).status).toBe(200);
  expect((await put('/a.txt', 'one')).status).toBe(200);
  expect(await codeOf(await put('/a.txt', 'two'))).toEqual([409, 'file_exists']);
  const mib = 1024 * 1024;
  expect(await codeOf(await put('/large.bin', Buffer.alloc(24 * mib)))).toEqual([413, 'payload_too_large']);
  expect((await put('/first.bin', Buffer.alloc(mib))).status).toBe(200);
  expect(await codeOf(await put('/second.bin', Buffer.alloc(mib)))).toEqual([422, 'files_quota_exceeded']);
  expect((await put('/b.txt', 'b')).status).toBe(200);
  expect((await put('/empty.txt', '')).status).toBe(200);
  expect(await codeOf(await put('/fifth.txt', '5'))).toEqual([422, 'files_quota_exceeded']);
  expect((await put('/b.txt', 'b')).status).toBe(200);
  expect(await codeOf(await put('/c.txt', 'c', 'bob'))).toEqual([404, 'session_not_found']);
  expect(await codeOf(await call('/a.txt', { userId: 'bob' }))).toEqual([404, 'session_not_found']);
  expect(await codeOf(await call('/none.txt'))).toEqual([404, 'file_not_found']);
  expect(Buffer.from(await sessions.readFile(lease.sessionId, 'empty.txt'))).toHaveLength(0);
  expect((await sessions.listFiles(lease.sessionId)).map(({ name }) => name)).toEqual([
    'a.txt',
    'first.bin',
    'b.txt',
    'empty.txt',
  ]);
  await lease.end();
});
