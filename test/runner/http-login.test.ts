import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ENV } from '../../contract/names.ts';
import { callText } from './start.ts';
import { type LeasedRunner, startLease } from './start-lease.ts';

const PASSWORD = 'correct:horse 77';
const EXPECTED = `Basic ${Buffer.from(`ada:${PASSWORD}`).toString('base64')}`;

let site: Server;
let lease: LeasedRunner;
let host: string;
/** The credentials that the site was sent. */
const sent: (string | undefined)[] = [];
beforeAll(async () => {
  site = createServer((request, response) => {
    sent.push(request.headers.authorization);
    if (request.headers.authorization === EXPECTED) response.end('<title>Staging</title><h1>Inside</h1>');
    else
      response
        .writeHead(401, { 'www-authenticate': 'Basic realm="Staging"', 'content-type': 'text/html' })
        .end('<h1>Closed</h1>');
  });
  await once(site.listen(0, '127.0.0.1'), 'listening');
  host = `127.0.0.1:${(site.address() as AddressInfo).port}`; // a TCP server has a port
  lease = await startLease({
    recordVideo: false,
    toolset: 'both',
    env: { [ENV.insecureLoginOrigins]: `http://${host}` },
    prepare(controller) {
      controller.secrets = { STAGING_USERNAME: 'ada', STAGING_PASSWORD: PASSWORD };
      controller.sites = [{ site: 'staging', totp: false }];
    },
  });
});
afterAll(async () => {
  await lease?.[Symbol.asyncDispose]();
  site?.closeAllConnections();
  site?.close();
});

const NAMES = 'STAGING_USERNAME:STAGING_PASSWORD';

test('a stored credential opens a page behind HTTP Basic by its names, unseen by the agent', async () => {
  const asked = await callText(lease.client, 'browser_navigate', { url: `http://${host}/` });
  expect(asked).toContain(`browser_navigate to http://${NAMES}@${host}/.`);
  // To an origin that the credential is not for, nothing is sent.
  const other = host.replace('127.0.0.1', 'localhost');
  const refused = await callText(lease.client, 'browser_navigate', { url: `http://${NAMES}@${other}/` });
  expect(refused).toMatch(/origin_refused/);
  const half = await callText(lease.client, 'browser_navigate', { url: `http://ada:STAGING_PASSWORD@${host}/` });
  expect(half).toMatch(/no_credential/);
  expect(sent.filter(each => each !== undefined)).toEqual([]);

  const opened = await callText(lease.client, 'browser_navigate', { url: `http://${NAMES}@${host}/` });
  expect(opened).toContain('Inside');
  expect(sent.at(-1)).toBe(EXPECTED);
  // The browser answers for the origin from then on.
  expect(await callText(lease.client, 'browser_navigate', { url: `http://${host}/again` })).toContain('Inside');
  const tabs = await callText(lease.client, 'browser_tabs', { action: 'list' });
  for (const text of [asked, opened, tabs, JSON.stringify(lease.controller.events), lease.runner.output()]) {
    expect(text).not.toContain(PASSWORD);
    expect(text).not.toContain(encodeURIComponent(PASSWORD));
  }
});
