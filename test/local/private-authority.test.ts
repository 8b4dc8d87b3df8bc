import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { AcquireRequest, BrowserSessions } from '../../client/browser-sessions.ts';
import { ENV, RUNNER_PROFILE_FOLDER } from '../../contract/names.ts';
import { stackEnvironment } from '../../local/stack-environment.ts';
import { runnerTempDir } from '../../runner/browser/temp-dir.ts';
import { runHere } from '../cli/run-here.ts';
import { eventually } from '../eventually.ts';
import { type TestCertificate, testCertificate } from '../site/certificate.ts';
import { shell } from './machine.ts';
import { type SiteStack, startSiteStack } from './site-stack.ts';

const AUTHORITY = testCertificate('people', { authority: true });
/** The same name with another key, as while an authority is replaced. */
const SUCCESSOR = testCertificate('people', { authority: true });
const FORMER = testCertificate('former people', { authority: true, expired: true });
const UNLISTED = testCertificate('strangers', { authority: true });

let on: SiteStack;
let sessions: BrowserSessions;
const servers: Server[] = [];
/** By what they show. */
let urls: Record<keyof ReturnType<typeof chains>, string>;

const chains = (address: string) => {
  const own = (issuer: TestCertificate, host = 'intranet.test') => testCertificate(host, { address, issuer });
  const between = testCertificate('department', { authority: true, issuer: AUTHORITY });
  const department = own(between);
  const self = testCertificate('bank.test', { address });
  const listed = testCertificate('appliance', { address, authority: true });
  return {
    leaf: own(AUTHORITY),
    successor: own(SUCCESSOR),
    chain: { ...department, cert: department.cert + between.cert },
    listed,
    otherName: testCertificate('other.test', { address: '192.0.2.1', issuer: AUTHORITY }),
    appended: { ...self, cert: self.cert + AUTHORITY.cert },
    appendedListed: { ...self, cert: self.cert + listed.cert },
    outdated: testCertificate('intranet.test', { address, issuer: AUTHORITY, expired: true }),
    unlisted: own(UNLISTED),
    ofFormer: own(FORMER),
    leafAsAuthority: (() => {
      const middle = own(AUTHORITY, 'middle.test');
      const false_ = own(middle);
      return { ...false_, cert: false_.cert + middle.cert };
    })(),
  };
};

beforeAll(async () => {
  on = await startSiteStack(async ({ url }) => {
    const { hostname } = new URL(url);
    const shown = chains(hostname);
    const ports = await Promise.all(
      Object.values(shown).map(async certificate => {
        const server = createServer({ ...certificate }, (_, response) =>
          response.setHeader('content-type', 'text/html').end('<title>Intranet</title><h1>Hello within</h1>'),
        );
        servers.push(server);
        await once(server.listen(0, hostname), 'listening');
        return (server.address() as AddressInfo).port; // a TCP server has one
      }),
    );
    const entries = Object.keys(shown).map((name, index) => [name, `https://${hostname}:${ports[index]}/`]);
    urls = Object.fromEntries(entries) as typeof urls; // the same keys
    const authorities = [AUTHORITY, SUCCESSOR, FORMER, shown.listed].map(({ cert }) => cert).join('');
    return { runnerEnv: { [ENV.chromiumCa]: authorities, [ENV.freezeSeconds]: '1' }, ports };
  });
  ({ sessions } = on);
});
afterAll(async () => {
  await on?.[Symbol.asyncDispose]();
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
});

const connect = (conversationId: string, more: Partial<AcquireRequest> = {}) =>
  sessions.connect({ userId: 'ada', conversationId, recordVideo: false, toolset: 'both', ...more });
type Connected = Awaited<ReturnType<typeof connect>>;
const open = async (browser: Connected, url: string) =>
  JSON.stringify((await browser.callTool('browser_navigate', { url })).content);

it('opens what a listed authority has signed for the host, with only its own certificate sent, and refuses all else', async () => {
  const browser = await connect('checks');
  for (const name of ['leaf', 'successor', 'chain', 'listed'] as const)
    expect(await open(browser, urls[name]), name).toContain('Hello within');
  expect(await open(browser, urls.otherName)).toMatch(/not for this host name.*ERR_CERT_COMMON_NAME_INVALID/);
  expect(await open(browser, urls.outdated)).toMatch(/has expired.*ERR_CERT_DATE_INVALID/);
  for (const name of ['appended', 'appendedListed', 'unlisted', 'ofFormer'] as const)
    expect(await open(browser, urls[name]), name).toMatch(/ERR_CERT_AUTHORITY_INVALID.*OMICRON_CHROMIUM_CA/);
  expect(await open(browser, urls.leafAsAuthority)).toMatch(/ERR_CERT_/);
  await browser.lease.end();
});

it('opens it after the browser was frozen, and in the browser of a complete profile, which does not keep the authorities', async () => {
  const whole = { profile: 'whole', profileForm: 'complete' } as const;
  const browser = await connect('profile', whole);
  expect(await open(browser, urls.leaf)).toContain('Hello within');
  await browser.lease.release(); // a browser whose lease is held is not frozen
  await eventually('a frozen browser', async () =>
    (await sessions.listEvents(browser.lease.sessionId)).events.some(({ kind }) => kind === 'browser.frozen'),
  );
  const again = await connect('profile', whole);
  expect(again.lease.sessionId).toBe(browser.lease.sessionId);
  expect(await open(again, urls.successor)).toContain('Hello within');
  expect(await open(again, urls.appended)).toContain('ERR_CERT_AUTHORITY_INVALID');
  const { runner_id } = await sessions.get(again.lease.sessionId);
  const folder = join(runnerTempDir(runner_id ?? ''), RUNNER_PROFILE_FOLDER);
  const databases = (await readdir(folder, { recursive: true })).filter(path => path.endsWith('cert9.db'));
  expect(databases).toEqual([join('home', '.pki', 'nssdb', 'cert9.db')]); // a profile is made of the folder `data`
  await again.lease.end();

  const next = await connect('the next', whole);
  expect(await open(next, urls.leaf)).toContain('Hello within');
  expect(await open(next, urls.unlisted)).toContain('ERR_CERT_AUTHORITY_INVALID');
  await next.lease.end();
});

it('is as strict where the runner itself speaks to the site, with a client certificate', async () => {
  const { cert: certificate, key } = testCertificate('ada', { issuer: AUTHORITY });
  const names = ['leaf', 'otherName', 'appended', 'outdated', 'unlisted'] as const;
  const origins = names.map(name => new URL(urls[name]).origin);
  await sessions.putCredential('ada', 'intranet', { client_certificate: { certificate, key }, url: origins });
  const browser = await connect('certificate');
  expect(await open(browser, urls.leaf)).toContain('Hello within');
  for (const name of names.slice(1))
    expect(await open(browser, urls[name]), name).toMatch(
      /certificate of the site is not trusted.*OMICRON_CHROMIUM_CA/,
    );
  await browser.lease.end();
});

it('is refused before anything starts where it cannot work, with what to do', async () => {
  const start = (more: Record<string, string>) => () => stackEnvironment({ ...shell(), ...more });
  const given = { [ENV.chromiumCa]: AUTHORITY.cert };
  const noCertutil = { ...given, PATH: '/nonexistent', [ENV.chromiumPath]: process.execPath };
  expect(start(given)).not.toThrow();
  expect(start(noCertutil)).toThrow(/certutil.*install libnss3-tools/);
  expect(start({ ...given, [ENV.chromiumCa]: FORMER.cert })).toThrow(/CN=former people expired on .*its successor/);
  expect(start({ ...given, [ENV.chromiumCa]: AUTHORITY.key })).toThrow('must not hold a private key');
  expect(start({ ...given, [ENV.provider]: 'kernel' })).toThrow(/Unset OMICRON_CHROMIUM_CA: a browser elsewhere/);
  const { stdout } = await runHere(['doctor'], { environment: { ...shell(), ...noCertutil } });
  expect(JSON.parse(stdout).checks).toContainEqual(
    expect.objectContaining({ check: 'authorities', ok: false, detail: expect.stringContaining('libnss3-tools') }),
  );
});
