import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { BrowserSessions } from '../../client/browser-sessions.ts';
import { ENV } from '../../contract/names.ts';
import { runHere } from '../cli/run-here.ts';
import { testCertificate } from '../site/certificate.ts';
import { shell } from './machine.ts';
import { type SiteStack, startSiteStack } from './site-stack.ts';

const AUTHORITY = testCertificate('people');
const ADA = testCertificate('ada', { issuer: AUTHORITY });
const STRANGER = testCertificate('mallory');
const PASSPHRASE = 'open sesame 77';

let on: SiteStack;
let sessions: BrowserSessions;
/** Sites that ask for a certificate of the authority: of TLS 1.3, of TLS 1.2, and one whose own certificate is not trusted. */
const sites: { server: Server; url: string }[] = [];
/** Names of the certificates that the sites were shown. */
const shown: string[] = [];

async function startSite(host: string, maxVersion: 'TLSv1.2' | 'TLSv1.3', own = testCertificate('localhost')) {
  const server = createServer(
    { ...own, ca: AUTHORITY.cert, requestCert: true, rejectUnauthorized: true, maxVersion },
    (request, response) => {
      const { CN } = (request.socket as TLSSocket).getPeerCertificate().subject; // of an https server
      shown.push(String(CN));
      response.setHeader('content-type', 'text/html').end(`<title>Bank</title><h1>Hello ${CN}</h1>`);
    },
  );
  await once(server.listen(0, host), 'listening');
  const { port } = server.address() as AddressInfo; // a TCP server has one
  sites.push({ server, url: `https://${host}:${port}` });
  return { port, spki: own.spki };
}

beforeAll(async () => {
  on = await startSiteStack(async ({ url }) => {
    const { hostname } = new URL(url);
    const [newer, older, untrusted] = [
      await startSite(hostname, 'TLSv1.3'),
      await startSite(hostname, 'TLSv1.2'),
      await startSite(hostname, 'TLSv1.3'),
    ];
    const ports = [newer.port, older.port, untrusted.port];
    return { runnerEnv: { [ENV.chromiumSpki]: `${newer.spki},${older.spki}` }, ports };
  });
  ({ sessions } = on);
});
afterAll(async () => {
  await on?.[Symbol.asyncDispose]();
  for (const { server } of sites) {
    server.closeAllConnections();
    server.close();
  }
});

async function open(conversationId: string, ...urls: string[]): Promise<string[]> {
  const browser = await sessions.connect({ userId: 'ada', conversationId, recordVideo: false, toolset: 'both' });
  try {
    const texts: string[] = [];
    for (const url of urls) texts.push(JSON.stringify((await browser.callTool('browser_navigate', { url })).content));
    return texts;
  } finally {
    await browser.lease.end();
  }
}

it('opens a site that asks for a client certificate with the one that is stored for it, and no other site', async () => {
  const [newer, older, untrusted] = sites.map(({ url }) => url) as [string, string, string]; // three were started
  const [refused] = await open('without', newer);
  expect(refused).toMatch(/asks for a client certificate, and none is stored for it.*credentials set/s);

  const { cert: certificate, key } = ADA;
  await sessions.putCredential('ada', 'bank', { client_certificate: { certificate, key }, url: [newer, untrusted] });
  const folder = on.folder;
  const files = { cert: join(folder, 'ada.pem'), key: join(folder, 'ada.key'), p12: join(folder, 'ada.p12') };
  await Promise.all([writeFile(files.cert, certificate), writeFile(files.key, key)]);
  const openssl = ['pkcs12', '-export', '-in', files.cert, '-inkey', files.key, '-out', files.p12];
  execFileSync('openssl', [...openssl, '-passout', `pass:${PASSPHRASE}`]);
  const set = ['--folder', folder, 'credentials', 'set', 'office', '--user', 'ada', '--url', older];
  const environment = { ...shell(), P12_PASSPHRASE: PASSPHRASE };
  const stored = await runHere([...set, '--certificate', files.p12, '--passphrase-env', 'P12_PASSPHRASE'], {
    environment,
  });
  expect(stored.stderr).toBe('');
  expect(JSON.parse(stored.stdout)).toEqual({ site: 'office', secret_names: [], client_certificate: true });
  const wrong = await runHere([...set, '--certificate', files.p12], { environment });
  expect(wrong.stderr).toContain('cannot be opened: the passphrase is wrong');
  expect((await sessions.listCredentials('ada')).sites).toMatchObject([
    { site: 'bank', secret_names: [], client_certificate: true, filled_on: expect.arrayContaining([newer]) },
    { site: 'office', client_certificate: true, problem: null },
  ]);

  const [bank, office, other] = await open('with', `${newer}/accounts`, older, untrusted);
  expect(bank).toContain('Hello ada');
  expect(office).toContain('Hello ada');
  // A site that pretends to be the bank gets nothing out of the certificate.
  expect(other).toMatch(/certificate of the site is not trusted.*OMICRON_CHROMIUM_CA/s);
  expect(shown).toEqual(['ada', 'ada']);

  const { cert, key: strange } = STRANGER;
  const mallory = { certificate: cert, key: strange };
  await sessions.putCredential('ada', 'bank', { client_certificate: mallory, url: newer });
  await sessions.putCredential('ada', 'office', { client_certificate: mallory, url: older });
  for (const text of await open('stranger', newer, older))
    expect(text).toMatch(/ended the connection after it was shown the client certificate that is stored for it/);
  expect(shown).toEqual(['ada', 'ada']);

  const log = await readFile(join(folder, 'secrets.jwe'), 'utf8');
  const { sessions: all } = await sessions.list({ userId: 'ada' });
  const events = await Promise.all(all.map(({ session_id }) => sessions.listEvents(session_id)));
  for (const text of [bank, office, log, JSON.stringify(events)]) {
    expect(text).not.toContain(key.split('\n')[1]);
    expect(text).not.toContain(PASSPHRASE);
  }
});

it('refuses what is no certificate when it is stored, with what is wrong', async () => {
  const put = (client_certificate: object) => sessions.putCredential('ada', 'shop', { client_certificate } as never); // as a caller without types
  const { cert: certificate } = ADA;
  await expect(put({ certificate })).rejects.toThrow('must have a certificate and its key, or a PKCS#12 file');
  await expect(put({ certificate, key: 'no key' })).rejects.toThrow('must be PEM');
  await expect(put({ certificate, key: STRANGER.key })).rejects.toThrow('has a key that is not of the certificate');
  await expect(put({ pkcs12: Buffer.from('no file').toString('base64') })).rejects.toThrow('cannot be read');
});
