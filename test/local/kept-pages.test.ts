import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { BrowserSessions } from '../../client/browser-sessions.ts';
import type { Lease } from '../../client/lease.ts';
import type { Toolset } from '../../contract/assignment.ts';
import { ENV } from '../../contract/names.ts';
import { type KeepPages, LAST_PAGE } from '../../contract/page-names.ts';
import type { Artifact } from '../../contract/session.ts';
import { serviceKey, signServiceToken } from '../../contract/tokens.ts';
import type { DemoSite } from '../../local/demo-site.ts';
import { connectMcpBrowser } from '../../local/mcp-browser.ts';
import type { Stack } from '../../local/stack.ts';
import { runHere } from '../cli/run-here.ts';
import { eventually } from '../eventually.ts';
import { shell } from './machine.ts';
import { type SiteStack, startSiteStack } from './site-stack.ts';

const JPEG = Buffer.from([0xff, 0xd8]);

/** It shows what is typed wherever a page can: in its text, its title and its address. */
const ECHO = `<!doctype html><title>Echo</title><p id=out></p><input id=password type=password
oninput="out.textContent = document.title = value; location.hash = value">`;

let on: SiteStack;
let site: DemoSite;
let echo: Server;
let echoUrl: string;
let folder: string;
let stack: Stack;
let sessions: BrowserSessions;
beforeAll(async () => {
  echo = createServer((_request, response) => response.setHeader('content-type', 'text/html').end(ECHO));
  on = await startSiteStack(async ({ url }) => {
    const { hostname } = new URL(url);
    await once(echo.listen(0, hostname), 'listening');
    const { port } = echo.address() as AddressInfo; // a TCP server has one
    echoUrl = `http://${hostname}:${port}`;
    return { runnerEnv: { [ENV.insecureLoginOrigins]: echoUrl }, ports: [port] };
  });
  ({ site, folder, stack, sessions } = on);
  await sessions.putCredential('ada', 'bakery', site.login);
});
afterAll(async () => {
  await on?.[Symbol.asyncDispose]();
  echo?.close();
});

const cli = async (...args: string[]) => {
  const { code, stdout, stderr } = await runHere(['--folder', folder, ...args], { environment: shell() });
  return code === 0 ? JSON.parse(stdout) : { code, stderr };
};

const begin = (conversationId: string, options: { keepPages?: KeepPages; toolset?: Toolset }) =>
  sessions.acquire({ userId: 'ada', conversationId, recordVideo: false, ...options });

/** The pages that are kept of an ended lease, by name. */
async function pagesOf({ sessionId, epoch }: Lease, count: number): Promise<Map<string, Artifact>> {
  const artifacts = await eventually(`${count} pages of epoch ${epoch}`, async () => {
    const kept = (await sessions.listArtifacts(sessionId)).filter(each => each.epoch === epoch);
    return kept.filter(({ state }) => state === 'stored').length === count && kept;
  });
  expect(new Set(artifacts.map(({ kind }) => kind))).toEqual(new Set(['page']));
  return new Map(artifacts.map(artifact => [artifact.name, artifact]));
}

const contentOf = async ({ session_id, id }: Artifact) => Buffer.from(await sessions.readArtifact(session_id, id));
const textOf = async (pages: ReadonlyMap<string, Artifact>, name: string) => {
  const artifact = pages.get(name);
  return artifact && (await contentOf(artifact)).toString('utf8');
};

const onDisk = () =>
  readdirSync(join(folder, 'runners')).some(runner =>
    existsSync(join(folder, 'runners', runner, 'output', LAST_PAGE.about)),
  );

it('[S11] [A14] pages are acted on by commands; the last HTML, title and picture are artifacts, though the tabs were closed', async () => {
  const lease = await begin('last', { toolset: 'both', keepPages: 'last' });
  const named = ['--user', 'ada', '--conversation', 'last'];
  expect(await cli('page', 'goto', site.url, ...named)).toMatchObject({ success: true, title: 'The Demo Bakery' });
  await eventually('the page to be kept between calls, for a browser that crashes', onDisk);
  expect(await cli('page', 'click', 'a', ...named)).toMatchObject({ success: true, url: `${site.url}/login` });
  {
    await using browser = await connectMcpBrowser(lease);
    const { images } = await browser.call('browser_open', { url: `${site.url}/login` });
    expect(images).toHaveLength(1);
    await browser.call('browser_close');
  }
  expect((await sessions.listArtifacts(lease.sessionId)).length).toBe(0);
  await lease.end();
  const pages = await pagesOf(lease, 3);
  expect(JSON.parse((await textOf(pages, LAST_PAGE.about)) ?? '')).toEqual({
    url: `${site.url}/login`,
    title: 'Log in - The Demo Bakery',
    at: expect.stringMatching(/^\d{4}-.*Z$/),
  });
  expect(await textOf(pages, LAST_PAGE.html)).toMatch(/^<!DOCTYPE html><html lang="en">.*<h1>Log in<\/h1>.*<\/html>$/s);

  const { artifacts } = await cli('artifacts', 'list', ...named);
  expect(artifacts.map(({ name }: Artifact) => name).sort()).toEqual(Object.values(LAST_PAGE).sort());
  const to = join(folder, 'last.jpg');
  await cli('artifacts', 'get', LAST_PAGE.picture, ...named, '--to', to);
  expect((await readFile(to)).subarray(0, 2)).toEqual(JPEG);
  expect(await cli('artifacts', 'get', LAST_PAGE.picture, ...named, '--to', to)).toMatchObject({ code: 2 });
  expect((await cli('artifacts', 'get', 'pages/none.jpg', ...named)).stderr).toContain('artifact_not_found');
  expect((await cli('artifacts', 'url', LAST_PAGE.picture, ...named)).stderr).toContain('artifact_urls_unavailable');

  const html = pages.get(LAST_PAGE.html);
  const path = `/internal/browser-sessions/${lease.sessionId}/artifacts/${html?.id}/content`;
  const read = async (userId: string) => {
    const authorization = `Bearer ${await signServiceToken(serviceKey(stack.serviceSecret), userId)}`;
    return fetch(`${stack.url}${path}`, { headers: { authorization, range: 'bytes=0-14' } });
  };
  const part = await read('ada');
  expect([part.status, await part.text()]).toEqual([206, '<!DOCTYPE html>']);
  // A page of a stranger: a browser is to save it, not to show it.
  expect(part.headers.get('content-disposition')).toBe("attachment; filename*=UTF-8''last.html");
  expect((await read('bob')).status).toBe(404);
});

it('[A7] calls are in the timeline with status, URL, title and, where wanted, a picture; what holds a password is not kept', async () => {
  const lease = await begin('calls', { keepPages: 'calls' });
  {
    await using browser = await connectMcpBrowser(lease);
    await browser.call('browser_navigate', { url: site.url });
    await browser.call('browser_navigate', { url: echoUrl });
    await browser.call('browser_type', { target: '#password', text: 'BAKERY_PASSWORD' });
    await browser.call('browser_evaluate', { function: '() => document.title' }).catch(() => undefined); // refused
  }
  await lease.end();
  const pages = await pagesOf(lease, 6);
  const { events } = await sessions.listEvents(lease.sessionId);
  const calls = events.filter(({ kind }) => kind === 'tool.call').map(({ data }) => data);
  const echoed = `${echoUrl}/#<secret>BAKERY_PASSWORD</secret>`;
  expect(calls).toMatchObject([
    {
      tool: 'browser_navigate',
      url: `${site.url}/`,
      status: 200,
      title: 'The Demo Bakery',
      picture: 'pages/call-0001.jpg',
    },
    { tool: 'browser_navigate', url: `${echoUrl}/`, status: 200, title: 'Echo', picture: 'pages/call-0002.jpg' },
    { tool: 'browser_type', url: echoed, outcome: 'ok', picture: 'pages/call-0003.jpg' },
    { tool: 'browser_evaluate', url: echoed, outcome: 'error', picture: 'pages/call-0004.jpg' },
  ]);
  for (const { picture } of calls) {
    const artifact = pages.get(String(picture));
    expect(artifact && (await contentOf(artifact)).subarray(0, 2)).toEqual(JPEG);
  }
  expect(pages.has(LAST_PAGE.html)).toBe(false);
  expect(JSON.parse((await textOf(pages, LAST_PAGE.about)) ?? '')).toMatchObject({
    ...{ url: echoed, title: '<secret>BAKERY_PASSWORD</secret>' },
    html_withheld: 'the document may hold a password or a code',
  });
  for (const artifact of pages.values())
    expect((await contentOf(artifact)).includes(site.login.password), artifact.name).toBe(false);
});

it('[E2] nothing is kept of a lease that asks for nothing, nor of a browser that showed nothing', async () => {
  const unwanted = await begin('unwanted', {});
  const blank = await begin('blank', { keepPages: 'last' });
  {
    await using browser = await connectMcpBrowser(unwanted);
    await browser.call('browser_navigate', { url: site.url });
    await using other = await connectMcpBrowser(blank);
    await other.call('browser_snapshot');
  }
  for (const lease of [unwanted, blank]) {
    const { runner_id } = await sessions.get(lease.sessionId);
    await lease.end();
    await eventually('its runner to be gone', () => !existsSync(join(folder, 'runners', String(runner_id))));
    expect(await sessions.listArtifacts(lease.sessionId)).toEqual([]);
  }
});
