import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { BrowserContext, Frame, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Lease } from '../../client/lease.ts';
import { PICTURE_HEADERS } from '../../contract/live-picture.ts';
import { connectMcpBrowser, type McpBrowser } from '../../local/mcp-browser.ts';
import { eventually } from '../eventually.ts';
import { accessibilityFaults, type OpenConsole, openConsole } from './open-console.ts';

/** A chat UI on another site than the console, whose backend hands out live tokens. */
let chat: { url: string; server: Server };
let console: OpenConsole;
let lease: Lease;
let agent: McpBrowser;
let context: BrowserContext;
let page: Page;

const PAGE = () => `<!doctype html><html lang="en"><title>Chat</title><main><h1>Chat</h1>
<omicron-browser-preview session="${lease.sessionId}"></omicron-browser-preview></main>
<script type="module">
  import '${console.stack.console.url}/preview.js';
  const preview = document.querySelector('omicron-browser-preview');
  const query = new URLSearchParams(location.search);
  if (query.has('read-only')) preview.setAttribute('read-only', '');
  let failing = Number(query.get('failing') ?? 0);
  if (query.has('token')) preview.liveToken = async () => {
    failing -= 1;
    if (failing === 1) throw new TypeError('Failed to fetch');
    if (failing === 0) return '<!doctype html><title>502</title>';
    return (await fetch('/token?role=' + query.get('token'))).text();
  };
</script></html>`;

beforeAll(async () => {
  const server = createServer(async (request, response) => {
    const at = new URL(request.url ?? '', 'http://chat');
    const role = at.searchParams.get('role') === 'control' ? 'control' : 'view';
    if (at.pathname !== '/token') return response.writeHead(200, { 'content-type': 'text/html' }).end(PAGE());
    const made = await console.sessions.createLiveToken(lease.sessionId, { role, viewer: 'ada' }).catch(() => null);
    return response.writeHead(made === null ? 409 : 200).end(made?.token ?? 'There is no browser now.');
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.3', resolve));
  chat = { server, url: `http://127.0.0.3:${(server.address() as AddressInfo).port}` };
  console = await openConsole({ embedOrigins: [chat.url] });
  lease = await console.sessions.acquire({ userId: 'ada', conversationId: 'bread' });
  agent = await connectMcpBrowser(lease);
  await agent.goto(`${console.site.url}/login`);
  context = await console.browser.newContext();
  page = await context.newPage();
});
afterAll(async () => {
  chat?.server.closeAllConnections();
  chat?.server.close();
  await agent?.[Symbol.asyncDispose]();
  await console?.[Symbol.asyncDispose]();
});

/** The preview, inside the closed root of the element. */
async function preview(query: string): Promise<Frame> {
  await page.goto(`${chat.url}/${query}`);
  return eventually('the frame', () => page.frames().find(each => each.url().includes('/preview/')));
}

describe('an embedded preview', () => {
  it('[A3] shows picture, address, title and who acts in a page of another site, without a sign-in to the console', async () => {
    const frame = await preview('?token=view');
    await frame.getByText('The agent acts on the browser').waitFor();
    await frame.getByRole('img', { name: 'Picture of Log in - The Demo Bakery' }).waitFor();
    await eventually('a picture', async () => (await frame.getByText('Waiting for a picture').count()) === 0);
    await eventually('the address', async () =>
      (await frame.getByLabel('Address').inputValue()).startsWith(console.site.url),
    );
    await frame.getByRole('button', { name: 'Expand' }).waitFor();
    expect(await frame.getByRole('button', { name: 'Take control' }).isVisible()).toBe(false); // the token is of a viewer
    expect(await context.cookies()).toEqual([]);
    expect(await accessibilityFaults(page)).toEqual([]);
  });

  it('a token for control takes it, and with read-only the page does not offer it', async () => {
    const frame = await preview('?token=control');
    await frame.getByRole('button', { name: 'Take control' }).click();
    await frame.getByText('You have control').waitFor();
    await frame.getByRole('button', { name: 'Hand back' }).click();
    await frame.getByText('Control was handed back').waitFor();
    const still = await preview('?token=control&read-only');
    await still.getByText('The agent acts on the browser').waitFor();
    expect(await still.getByRole('button', { name: 'Take control' }).isVisible()).toBe(false);
  });

  it('asks for a token again where its page had none, or what is no token, and says so meanwhile', async () => {
    const frame = await preview('?token=view&failing=2');
    await frame.getByText('the page around this view has no live token for it').waitFor();
    await frame.getByText('The agent acts on the browser').waitFor();
  });

  it('says what the agent asks for, and leads to the console', async () => {
    const frame = await preview('?token=view');
    await frame.getByText('The agent acts on the browser').waitFor();
    const asking = agent.call('browser_request_user_action', { reason: 'Which loaf?', timeout: 60 });
    await frame.getByText('The agent asks: Which loaf?').waitFor();
    const href = await frame.getByRole('link', { name: 'Answer in the console' }).getAttribute('href');
    expect(href).toBe(`/sessions/${lease.sessionId}`);
    const [action] = await console.sessions.listUserActions(lease.sessionId);
    await console.sessions.answerUserAction(lease.sessionId, action?.id ?? '', { status: 'done' });
    await asking;
    await eventually('it goes', async () => (await frame.getByText('The agent asks').count()) === 0);
  });

  it('a page of an origin that is not listed gets no frame, and no page but the preview has one', async () => {
    const headers = (path: string) => fetch(`${console.stack.console.url}${path}`).then(answer => answer.headers);
    const policy = async (path: string) => (await headers(path)).get('content-security-policy');
    expect(await policy(`/preview/${lease.sessionId}`)).toContain(`frame-ancestors 'self' ${chat.url}`);
    expect(await policy('/')).toContain("frame-ancestors 'none'");
    expect(await policy(`/sessions/${lease.sessionId}`)).toContain("frame-ancestors 'none'");
    expect((await headers('/preview.js')).get('access-control-allow-origin')).toBe('*');
    expect((await headers('/console.js')).get('access-control-allow-origin')).toBeNull();
  });
});

describe('a broken socket', () => {
  it('is opened again by itself, and the page says so meanwhile', async () => {
    await page.goto('about:blank');
    let sockets = 0;
    const said = Promise.withResolvers<void>();
    await page.routeWebSocket(/\/live\?/, async socket => {
      sockets += 1;
      if (sockets > 1) await said.promise;
      const server = socket.connectToServer();
      if (sockets === 1) server.onMessage(() => socket.close({ code: 1011, reason: 'cut off' }));
    });
    const frame = await preview('?token=view');
    await frame.getByText('The connection was lost').waitFor();
    said.resolve();
    await frame.getByText('The agent acts on the browser').waitFor();
    expect(sockets).toBe(2);
    await page.unrouteAll();
  });
});

describe('picture mode', () => {
  const signIn = async (viewer: Page) => {
    await viewer.goto(console.stack.console.link());
    await viewer.getByRole('heading', { name: 'Sessions', exact: true }).waitFor();
  };

  it('[A11] pictures come by requests if the network blocks sockets, and a press carries the number of its picture', async () => {
    await page.routeWebSocket(/\/live\?/, socket => socket.close({ code: 1011, reason: 'blocked' }));
    await signIn(page);
    const sent: { picture: number; messages: { t: string }[] }[] = [];
    page.on('request', request => {
      if (request.url().endsWith('/messages')) sent.push(request.postDataJSON());
    });
    const field = await agentField(); // before its calls wait
    await page.goto(`${console.stack.console.url}/sessions/${lease.sessionId}`);
    await page.getByRole('button', { name: 'Pictures only', pressed: true }).waitFor(); // by itself, after some attempts
    await page.getByRole('button', { name: 'Take control' }).click();
    await page.getByText('You have control').waitFor();
    await eventually('a picture', async () => (await page.getByText('Waiting for a picture').count()) === 0);
    const canvas = page.locator('.screen canvas');
    const box = (await canvas.boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
    await page.mouse.click(box.x + (field.x / 1920) * box.width, box.y + (field.y / 1080) * box.height);
    await page.keyboard.type('ada');
    await eventually('the press', () => sent.some(({ messages }) => messages.some(({ t }) => t === 'mouse')));
    expect(sent.find(({ messages }) => messages.some(({ t }) => t === 'mouse'))?.picture).toBeGreaterThan(0);
    await page.getByRole('button', { name: 'Hand back' }).click();
    await page.getByText('Control was handed back').waitFor();
    expect((await agent.call('browser_snapshot')).text).toContain('ada');
  });

  it('a page gets files that are larger than other requests may be', async () => {
    await agent.call('browser_navigate', {
      url: `data:text/html,${encodeURIComponent(`<style>body{margin:0}</style><input type=file style="width:100vw;height:100vh"
        onchange="document.title = this.files[0].name + ' ' + this.files[0].size">`)}`,
    });
    await page.getByRole('button', { name: 'Take control' }).click();
    await page.getByText('You have control').waitFor();
    await page.locator('.screen canvas').click();
    await page
      .getByLabel('The page asks for a file')
      .setInputFiles({ name: 'order.pdf', mimeType: 'application/pdf', buffer: Buffer.alloc(9 * 1024 * 1024) });
    await page.locator('.tab-bar .shown', { hasText: 'order.pdf 9437184' }).waitFor();
    await page.getByRole('button', { name: 'Hand back' }).click();
    await page.getByText('Control was handed back').waitFor();
  });

  it('a press on a picture of another tab is refused, and an unchanged picture is not sent again', async () => {
    await agent.call('browser_navigate', { url: 'data:text/html,<title>Still</title>still' });
    const { url } = console.stack.console;
    const ask = (path: string, init: { method?: string; data?: unknown; headers?: Record<string, string> } = {}) =>
      context.request.fetch(`${url}/api${path}`, { ...init, headers: { origin: url, ...init.headers } });
    const { view } = await (
      await ask(`/browser-sessions/${lease.sessionId}/polled-views`, { method: 'POST', data: { role: 'control' } })
    ).json();
    const news = async (after: number, picture: number) =>
      (await ask(`/polled-views/${view}?after=${after}&picture=${picture}`)).json();
    const say = (picture: number, message: object) =>
      ask(`/polled-views/${view}/messages`, { method: 'POST', data: { picture, messages: [message] } });
    const { picture } = await eventually('a picture', async () => {
      const found = await news(0, -1);
      return found.picture > 0 && found;
    });
    const first = await ask(`/polled-views/${view}/picture`);
    expect(first.headers()['content-type']).toBe('image/jpeg');
    const etag = first.headers().etag ?? '';
    expect((await ask(`/polled-views/${view}/picture`, { headers: { 'if-none-match': etag } })).status()).toBe(304);

    await agent.call('browser_tabs', { action: 'new', url: 'data:text/html,<title>Other</title>other' });
    const tab = first.headers()[PICTURE_HEADERS.tab];
    await eventually('a picture of the other tab', async () => {
      const next = await ask(`/polled-views/${view}/picture`); // which lets another one come
      return next.headers()[PICTURE_HEADERS.tab] !== tab;
    });
    await say(-1, { t: 'take' });
    await say(picture, { t: 'mouse', kind: 'down', x: 10, y: 10, button: 'left', buttons: 1, clicks: 1 });
    const heard = await eventually('the refusal', async () =>
      (await news(0, -1)).messages.find(({ t }: { t: string }) => t === 'refused'),
    );
    expect(heard.text).toContain('another tab');
    await say(-1, { t: 'release' });
    expect((await ask(`/polled-views/${view}`, { method: 'DELETE' })).status()).toBe(204);
  });
});

describe('the next lease', () => {
  it('is shown by a preview that has seen the end of the one before', async () => {
    page = await context.newPage(); // whose sockets nothing blocks
    const frame = await preview('?token=view');
    await frame.getByText('The agent acts on the browser').waitFor();
    await lease.end();
    await frame.getByText('The live view has ended: the lease has ended.').waitFor();
    lease = await console.sessions.acquire({ userId: 'ada', conversationId: 'bread' });
    await frame.getByText('The agent acts on the browser').waitFor();
  });
});

/** The middle of the username's field, in CSS pixels of the tab. */
const agentField = () =>
  agent.evaluate(
    `() => { const r = document.querySelector('#username').getBoundingClientRect(); return { x: r.x + r.width / 2, y: r.y + r.height / 2 }; }`,
  ) as Promise<{ x: number; y: number }>; // what the function returns
