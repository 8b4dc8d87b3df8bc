import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ENV } from '../../../contract/names.ts';
import { eventually } from '../../eventually.ts';
import { type LeasedRunner, startLease } from '../start-lease.ts';
import { at, COPY, FIELD, greenIn, leaks, onFill, SECRET } from './picture-site.ts';

/** The case of the issue: a control that renders another input in place of the filled one. */
const SHOWN = `${FIELD}<input id=q style="${at(100)};display:none"><button style="position:absolute;top:200px" onclick="q.value = p.value; q.style.display = q.style.display ? '' : 'none'">Show</button>`;
const PAGES: Record<string, string> = {
  '/shown': SHOWN,
  '/copied': FIELD + COPY + onFill('m.textContent = p.value'),
  '/user': `<input id=u style="${at(0)}">`,
  '/unknown': `${FIELD}${COPY}${onFill('m.innerHTML = \'<i style="display:inline-block;width:4px;height:4px;background:#0f0"></i>\'.repeat(600)')}`,
  '/after': `<h1>Orders</h1><img src="/logo.svg" width=100 height=40>`,
};
/** Green as well where it is drawn. */
const USERNAME = '████████▜▜▜▜';
const LOGO =
  '<svg xmlns="http://www.w3.org/2000/svg" width="100" height="40"><rect width="100" height="40" fill="#0f0"/></svg>';

let server: Server;
let lease: LeasedRunner;
let origin: string;
beforeAll(async () => {
  server = createServer((request, response) => {
    const isLogo = request.url === '/logo.svg';
    response.writeHead(200, { 'content-type': isLogo ? 'image/svg+xml' : 'text/html; charset=utf-8' });
    response.end(
      isLogo ? LOGO : `<!doctype html><title>x</title><body style="margin:0;height:600px">${PAGES[request.url ?? '']}`,
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // a TCP server has a port
  lease = await startLease({
    ...{ toolset: 'both', recordVideo: true, env: { [ENV.insecureLoginOrigins]: origin } },
    prepare(controller) {
      controller.secrets = { SHOP_USERNAME: USERNAME, SHOP_PASSWORD: SECRET };
    },
  });
});
afterAll(async () => {
  await lease?.[Symbol.asyncDispose]();
  server?.close();
});

interface Part {
  type: string;
  text?: string;
  data?: string;
}

async function call(name: string, args: Record<string, unknown> = {}) {
  const { content } = await lease.client.callTool({ name, arguments: args });
  const parts = content as Part[]; // the tool-result shape of the protocol
  return {
    text: parts.map(({ text }) => text ?? '').join('\n'),
    pictures: parts.flatMap(({ data }) => (data === undefined ? [] : [Buffer.from(data, 'base64')])),
  };
}

/** Every way in which an agent gets a picture. */
const WAYS: readonly (readonly [string, Record<string, unknown>])[] = [
  ['browser_screenshot', {}],
  ['browser_screenshot', { fullPage: true }],
  ['browser_take_screenshot', {}],
  ['browser_take_screenshot', { type: 'jpeg' }],
  ['browser_take_screenshot', { fullPage: true, type: 'png' }],
  ['browser_take_screenshot', { target: 'body', type: 'jpeg' }],
];

async function open(path: string): Promise<void> {
  await call('browser_navigate', { url: origin + path });
  const what = path === '/user' ? { target: '#u', text: 'SHOP_USERNAME' } : { target: '#p', text: 'SHOP_PASSWORD' };
  const { text } = await call('browser_type', what);
  expect(text).toContain('was filled in');
}

test.each(['/shown', '/copied', '/user'])('no picture of any tool shows the value: %s', async path => {
  await open(path);
  if (path === '/shown') await call('browser_click', { target: 'button' });
  for (const [name, args] of WAYS) {
    const { text, pictures } = await call(name, args);
    expect(pictures.length, `${name}: ${text}`).toBe(1);
    expect(leaks(greenIn(pictures))).toBe(0);
  }
});

test('every tool says why there is no picture and what to do if secrets cannot be found', async () => {
  await open('/unknown');
  for (const [name, args] of WAYS) {
    const { text, pictures } = await call(name, args);
    expect(pictures).toEqual([]);
    expect(text).toMatch(/picture_withheld.*cannot be searched.*reload or leave the page/s);
  }
});

test('the page after the login is shown as it is', async () => {
  await open('/shown');
  await call('browser_navigate', { url: `${origin}/after` });
  // The logo may still be loading.
  for (const [name, args] of WAYS.filter(([, { target }]) => target === undefined))
    await eventually(`the logo in ${name}`, async () => (greenIn((await call(name, args)).pictures)[0] ?? 0) > 900);
});

test('the video of all of this shows no value', async () => {
  const { runner } = lease;
  runner.child.kill('SIGTERM');
  await runner.exited;
  const files = readdirSync(runner.outputDir).filter(name => name.endsWith('.webm'));
  const frames = files.flatMap(name => greenIn(join(runner.outputDir, name)));
  expect(frames.length).toBeGreaterThan(10);
  // The logo alone has a thousand, and stands in the same place in each frame.
  expect(frames.filter(count => count > 1_100)).toEqual([]);
});
