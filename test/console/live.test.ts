import { readFile, rm } from 'node:fs/promises';
import type { BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import type { Lease } from '../../client/lease.ts';
import { LIVE_CLOSE, LIVE_PROTOCOL } from '../../contract/live-limits.ts';
import { connectMcpBrowser, type McpBrowser } from '../../local/mcp-browser.ts';
import { eventually } from '../eventually.ts';
import { accessibilityFaults, type OpenConsole, openConsole, phoneFaults } from './open-console.ts';

let console: OpenConsole;
let page: Page;
let lease: Lease;
let agent: McpBrowser;

beforeAll(async () => {
  console = await openConsole();
  page = console.page;
  page.setDefaultTimeout(15_000);
  await signIn(page);
  lease = await console.sessions.acquire({ userId: 'ada', conversationId: 'bread' });
  agent = await connectMcpBrowser(lease);
  await context().grantPermissions(['clipboard-read', 'clipboard-write']);
});
afterAll(async () => {
  await agent?.[Symbol.asyncDispose]();
  await console?.[Symbol.asyncDispose]();
});

const context = (): BrowserContext => console.context;
async function signIn(viewer: Page): Promise<void> {
  await viewer.goto(console.stack.console.link());
  await viewer.getByRole('heading', { name: 'Sessions', exact: true }).waitFor();
}
const sessionUrl = () => `${console.stack.console.url}/sessions/${lease.sessionId}`;
const open = (viewer = page) => viewer.goto(sessionUrl());
const cookie = async () => (await context().cookies()).map(({ name, value }) => `${name}=${value}`).join('; ');
const take = (viewer = page) => viewer.getByRole('button', { name: 'Take control' }).click();
const hasControl = (viewer = page) => viewer.getByText('You have control').waitFor();
const handBack = (viewer = page) => viewer.getByRole('button', { name: 'Hand back' }).click();

const shownTab = (title: string) => page.locator('.tab-bar .shown', { hasText: title });

/** The page is 1920x1080; its fields stand where no test has to look for them. */
const html = (body: string) =>
  `data:text/html,<title>Form</title><style>body{margin:0;background:rgb(0,90,0)}body>*{position:absolute;left:200px;width:800px;height:60px}</style>${encodeURIComponent(body)}`;
const FORM =
  html(`<input id=t style="top:100px"><button style="top:300px" onclick="this.textContent='pressed'">press</button>
<button style="top:500px" onclick="this.textContent='answered ' + prompt('which loaf?', 'rye')">ask</button>
<input type=file style="top:700px" onchange="document.title='has ' + this.files[0].name">`);
const PLACES = { field: 130, press: 330, ask: 530, file: 730 };

/** A click on the picture, at 400 pixels of the tab from its left edge. */
async function clickAt(y: number, viewer = page): Promise<void> {
  const canvas = viewer.locator('.screen canvas');
  // A notice that comes or goes moves the picture.
  let before = '';
  const box = await eventually('a picture that stands still', async () => {
    const now = await canvas.boundingBox();
    const stands = JSON.stringify(now) === before && now;
    before = JSON.stringify(now);
    return stands;
  });
  await viewer.mouse.click(box.x + (400 / 1920) * box.width, box.y + (y / 1080) * box.height);
}

/** Colour of a pixel of the picture, in the middle of its lower edge. */
const colour = (viewer: Page): Promise<number[]> =>
  viewer.evaluate(`(() => { const c = document.querySelector('.screen canvas');
    return [...c.getContext('2d').getImageData(c.width / 2, c.height - 20, 1, 1).data.slice(0, 3)]; })()`);
const sees = (wanted: readonly number[], viewer = page, withinMs?: number) =>
  eventually(
    `the picture has ${wanted}`,
    async () => (await colour(viewer)).every((value, at) => Math.abs(value - (wanted[at] ?? 0)) < 25),
    withinMs,
  );
const GREEN = [0, 90, 0];

describe('the socket', () => {
  /** The status with which the handshake is refused. */
  const refused = (headers: Record<string, string>, path = `/api/browser-sessions/${lease.sessionId}/live`) =>
    new Promise<number | undefined>(resolve => {
      const socket = new WebSocket(`${console.stack.console.url.replace('http', 'ws')}${path}`, LIVE_PROTOCOL, {
        headers,
      });
      socket.on('unexpected-response', (_request, { statusCode }) => resolve(statusCode));
      socket.on('error', () => undefined);
      socket.on('open', () => {
        resolve(101);
        socket.close();
      });
    });

  it('opens for pages of the console whose person is signed in, and for nothing else', async () => {
    const own = { cookie: await cookie(), origin: console.stack.console.url };
    expect(await refused(own)).toBe(101);
    expect(await refused({ origin: own.origin })).toBe(401);
    expect(await refused({ ...own, origin: 'http://127.0.0.1:1' })).toBe(403);
    expect(await refused({ cookie: own.cookie })).toBe(403);
    expect(await refused({ ...own, host: 'evil.example' })).toBe(403);
    expect(await refused(own, '/api/browser-sessions')).toBe(404);
  });

  it('no token reaches the page: neither in an address nor in what is sent and received', async () => {
    const seen: string[] = [];
    page.on('websocket', socket => {
      seen.push(socket.url());
      socket.on('framesent', ({ payload }) => seen.push(String(payload)));
      socket.on('framereceived', ({ payload }) => typeof payload === 'string' && seen.push(payload));
    });
    await open();
    await page.getByText('The agent acts on the browser').waitFor();
    expect(seen[0]).toMatch(/\/live\?role=control$/);
    expect(seen.join('\n')).not.toMatch(/eyJ/); // how a JWT begins
  });
});

describe('the live view', () => {
  beforeAll(async () => {
    await agent.call('browser_navigate', { url: FORM });
    await open();
  });

  it('[A3] shows the page, its address and its title, and after a reload within a second', async () => {
    await sees(GREEN);
    await shownTab('Form').waitFor();
    await page.reload();
    await sees(GREEN);
  });

  it('follows the agent from tab to tab', async () => {
    await agent.call('browser_tabs', {
      action: 'new',
      url: 'data:text/html,<title>Second</title><body style="background:rgb(150,0,0)">',
    });
    await sees([150, 0, 0]);
    await agent.call('browser_tabs', { action: 'select', index: 0 });
    await sees(GREEN);
    await shownTab('Form').waitFor();
  });

  it('[A4] a person takes control and acts: clicks, types in any layout, pastes, copies, answers, gives a file', async () => {
    await take();
    await hasControl();
    const waiting = agent.call('browser_snapshot', {});
    await page.getByText('One call of the agent waits').waitFor();

    await clickAt(PLACES.field);
    await page.keyboard.type('dr');
    await page.keyboard.insertText('ü'); // as a phone's keyboard does
    await page.keyboard.press('Backspace');
    await page.evaluate('navigator.clipboard.writeText("ink ☕")');
    await page.keyboard.press('Control+v');
    const cdp = await context().newCDPSession(page);
    await cdp.send('Input.imeSetComposition', { text: 'に', selectionStart: 1, selectionEnd: 1 });
    await cdp.send('Input.insertText', { text: '日本' }); // what the composition ends with
    await page.keyboard.press('Control+a');
    await page.keyboard.press('Control+c');
    await eventually(
      'the clipboard',
      async () => (await page.evaluate('navigator.clipboard.readText()')) === 'drink ☕日本',
    );

    await clickAt(PLACES.press);
    await page.locator('.ring').waitFor({ state: 'attached' }); // over the picture, not in the page
    await clickAt(PLACES.ask);
    const dialog = page.getByRole('region', { name: 'The page says' });
    await dialog.getByLabel('Answer').fill('spelt');
    await dialog.getByRole('button', { name: 'OK' }).click();
    await dialog.waitFor({ state: 'hidden' });
    await clickAt(PLACES.file);
    await page
      .getByLabel('The page asks for a file')
      .setInputFiles({ name: 'order.txt', mimeType: 'text/plain', buffer: Buffer.from('rye') });
    await shownTab('has order.txt').waitFor();

    await handBack();
    await page.getByText('Control was handed back').waitFor();
    const { text } = await waiting;
    for (const each of ['drink ☕日本', 'button "pressed"', 'button "answered spelt"', 'A person acted'])
      expect(text).toContain(each);
  });

  it('passes axe and fits a phone, in the console and as a preview, in light and dark', async () => {
    await take();
    await hasControl();
    expect(await phoneFaults(page)).toEqual([]);
    await handBack();
    await page.goto(`${console.stack.console.url}/preview/${lease.sessionId}`);
    await page.getByText('The agent acts on the browser').waitFor();
    expect(await phoneFaults(page)).toEqual([]);
    await open();
  });

  it('[A4] switches and closes tabs, goes to an address, back and forward', async () => {
    await take();
    await hasControl();
    const press = (name: string) => page.getByRole('button', { name, exact: true }).click();
    await press('Second');
    await sees([150, 0, 0]);
    const address = page.getByLabel('Address');
    await address.fill(console.site.url);
    await address.press('Enter');
    const at = (url: string) => eventually(url, async () => (await address.inputValue()).startsWith(url));
    await at(console.site.url);
    await press('Back');
    await at('data:');
    await press('Forward');
    await at(console.site.url);
    await press('Back');
    await at('data:');
    await sees([150, 0, 0]);
    await press('Close Second');
    await sees(GREEN);
    await handBack();
  });

  it('[A4] reloads by its button', async () => {
    // says how it was loaded, https://developer.mozilla.org/docs/Web/API/PerformanceNavigationTiming/type
    const loaded = `<script>document.title = performance.getEntriesByType('navigation')[0].type</script>`;
    await agent.call('browser_tabs', { action: 'new', url: `data:text/html,${encodeURIComponent(loaded)}` });
    await shownTab('navigate').waitFor();
    await take();
    await hasControl();
    await page.getByRole('button', { name: 'Reload', exact: true }).click();
    await shownTab('reload').waitFor();
    await page.getByRole('button', { name: 'Close reload' }).click();
    await sees(GREEN);
    await handBack();
  });

  it('[A4] too much at once is said to the person, and a burst of keys is typed whole: the connection stays', async () => {
    await agent.call('browser_navigate', {
      url: html(`<input style="top:100px" onkeydown="if (event.key === 'Enter') document.title = this.value.length + ' characters'">
        <input type=file multiple style="top:700px" onchange="document.title = 'has ' + this.files.length">`),
    });
    let closed = 0;
    page.once('websocket', socket => socket.on('close', () => (closed += 1)));
    await page.reload();
    await sees(GREEN);
    await take();
    await hasControl();
    await clickAt(PLACES.file);
    const chooser = page.getByRole('region', { name: 'The page asks for files' });
    const give = (count: number, bytes: number) =>
      chooser.locator('input').setInputFiles(
        Array.from({ length: count }, (_, at) => ({
          ...{ name: `${at}.txt`, mimeType: 'text/plain', buffer: Buffer.alloc(bytes) },
        })),
      );
    await give(11, 1);
    await chooser.getByRole('alert').getByText('Choose 10 files at most').waitFor();
    await give(2, 6 * 1024 * 1024);
    await chooser.getByRole('alert').getByText('Together they are larger than 10 MiB').waitFor();
    await give(2, 1);
    await shownTab('has 2').waitFor();

    const address = page.getByLabel('Address');
    await address.fill(`${console.site.url}/?${'a'.repeat(9_000)}`);
    await address.press('Enter');
    expect(await address.evaluate(field => (field as unknown as { validationMessage: string }).validationMessage)).toBe(
      'An address has 8192 characters at most.',
    );

    // as a password manager types
    const typed = 'The rye is sold out. '.repeat(12);
    await clickAt(PLACES.field);
    const cdp = await context().newCDPSession(page);
    const key = (type: 'keyDown' | 'keyUp', text: string) =>
      cdp.send('Input.dispatchKeyEvent', { type, key: text, code: text, ...(type === 'keyDown' && { text }) });
    await Promise.all([...typed].flatMap(text => [key('keyDown', text), key('keyUp', text)]));
    await cdp.detach();
    await page.keyboard.press('Enter');
    await shownTab(`${typed.length} characters`).waitFor();
    expect(closed).toBe(0);
    await handBack();
  });

  it('offers lists, dates and colours, which are in no picture: what is chosen beside the field is set in the page', async () => {
    const field = (tag: string, top: number) =>
      `${tag.replace('>', ` style="top:${top}px" onchange="document.title += ' ' + this.value">`)}`;
    await agent.call('browser_navigate', {
      url: html(
        field('<select>', PLACES.field - 30) +
          '<option>rye<option>wheat<optgroup label=x disabled><option>spelt</optgroup></select>' +
          field('<input type=date value="2026-03-17">', PLACES.press - 30) +
          field('<input type=color value="#102030">', PLACES.ask - 30) +
          field('<input>', PLACES.file - 30),
      ),
    });
    await take();
    await hasControl();
    await sees(GREEN);
    await clickAt(PLACES.field);
    const list = page.getByLabel("Options of the page's list");
    await list.waitFor();
    expect(await list.locator('option').allInnerTexts()).toEqual(['rye', 'wheat', 'spelt']);
    expect(await list.locator('option').last().isDisabled()).toBe(true);
    expect(await accessibilityFaults(page)).toEqual([]);
    await list.selectOption('wheat');
    await shownTab('wheat').waitFor();
    await list.waitFor({ state: 'detached' });
    for (const [place, label, value] of [
      [PLACES.press, 'Date', '2026-04-01'],
      [PLACES.ask, 'Colour', '#aabbcc'],
    ] as const) {
      await clickAt(place);
      await page.getByLabel(label, { exact: true }).fill(value);
      await page.getByRole('button', { name: 'Set', exact: true }).click();
      await shownTab(value).waitFor();
    }
    await clickAt(PLACES.ask);
    await page.getByLabel('Colour', { exact: true }).waitFor();
    await clickAt(PLACES.file);
    await page.getByLabel('Colour', { exact: true }).waitFor({ state: 'detached' });
    await handBack();
  });

  it('a finger taps, and moves what it is on', async () => {
    await agent.call('browser_navigate', {
      url: html(
        `<button style="top:300px" onclick="document.title += ' tapped'">tap</button>
        <div style="top:500px;touch-action:none;background:red" ontouchmove="document.title += ' moved ' + this.innerText">me</div>`,
      ),
    });
    await take();
    await hasControl();
    await sees(GREEN);
    const canvas = await page.locator('.screen canvas').boundingBox();
    const { x = 0, y = 0, width = 0, height = 0 } = canvas ?? {};
    const at = (top: number) => ({ x: x + (400 / 1920) * width, y: y + (top / 1080) * height });
    const cdp = await context().newCDPSession(page);
    const touch = (type: 'touchStart' | 'touchMove' | 'touchEnd', ...touchPoints: { x: number; y: number }[]) =>
      cdp.send('Input.dispatchTouchEvent', { type, touchPoints });
    await touch('touchStart', at(PLACES.press));
    await touch('touchEnd');
    await shownTab('tapped').waitFor();
    await touch('touchStart', at(PLACES.ask));
    for (const by of [5, 10, 20, 40, 60]) await touch('touchMove', at(PLACES.ask + by));
    await touch('touchEnd');
    await shownTab('moved me').waitFor();
    await cdp.detach();
    await handBack();
  });

  it('keys that are held when control is lost are lifted', async () => {
    await agent.call('browser_navigate', {
      url: html(
        `<input style="top:100px" onkeydown="document.title += event.key + '-down '" onkeyup="document.title += event.key + '-up '">`,
      ),
    });
    await take();
    await hasControl();
    await eventually('the field to have the focus', async () => {
      await clickAt(PLACES.field);
      await page.keyboard.press('x');
      return shownTab('x-down')
        .waitFor({ timeout: 3_000 })
        .then(
          () => true,
          () => false,
        );
    });
    await page.keyboard.down('Shift');
    await shownTab('Shift-down').waitFor();
    await page.getByRole('button', { name: 'Hand back' }).focus();
    await shownTab('Shift-up').waitFor();
    await page.keyboard.up('Shift');
    await handBack();
  });

  it('[A11] a reload keeps control; a second person sees who has it and takes it, and the first reads who did and why', async () => {
    await agent.call('browser_navigate', {
      url: html(
        `<input style="top:100px" onkeydown="document.title += event.key" onkeyup="document.title += ' ' + event.key + '-up'">`,
      ),
    });
    await take();
    await hasControl();
    await using other = await console.browser.newContext();
    const rival = await other.newPage();
    await signIn(rival);
    await open(rival);
    await rival.getByText('operator 1 has control').waitFor();
    await page.reload();
    await hasControl();
    await sees(GREEN);
    await clickAt(PLACES.field);
    await page.keyboard.down('Shift');
    await shownTab('Shift').waitFor();

    await rival.getByRole('button', { name: 'Take over' }).click();
    const question = rival.getByRole('form', { name: 'Take control from operator 1' });
    expect(await accessibilityFaults(rival)).toEqual([]);
    await question.getByLabel('Why').press('Escape');
    await rival.getByRole('button', { name: 'Take over' }).click();
    await question.getByLabel('Why').fill('The rye is sold out');
    await question.getByRole('button', { name: 'Take control from operator 1' }).click();
    await hasControl(rival);
    await page.getByText('operator 2 took control from you: “The rye is sold out”').waitFor();
    await shownTab('Shift-up').waitFor(); // what the first one held is lifted
    await page.keyboard.up('Shift');
    await page.keyboard.type('not mine');
    const waiting = agent.call('browser_snapshot', {});
    await page.getByText('One call of the agent waits').waitFor();
    await clickAt(PLACES.field, rival);
    await rival.keyboard.type('wheat');
    await handBack(rival);
    const { text } = await waiting;
    expect(text).toContain('wheat');
    expect(text).not.toContain('not mine');
    await page.getByRole('button', { name: 'Take control' }).waitFor();
    const control = await eventually('the last event', async () => {
      const { events } = await console.sessions.listEvents(lease.sessionId, { limit: 200 });
      const found = events.filter(({ kind }) => kind.startsWith('control.')).slice(-4);
      const last = found.at(-1);
      return last?.kind === 'control.given_back' && last.data.viewer === 'operator 2' && found;
    });
    expect(control.map(({ kind, data }) => ({ kind, ...data }))).toMatchObject([
      { kind: 'control.taken', viewer: 'operator 1' },
      { kind: 'control.given_back', viewer: 'operator 1', why: 'taken' },
      { kind: 'control.taken', viewer: 'operator 2', from: 'operator 1', reason: 'The rye is sold out' },
      { kind: 'control.given_back', viewer: 'operator 2', why: 'released' },
    ]);
  });
});

describe('requests to a person', () => {
  it('[A10] one appears at once; who takes control, acts and chooses Done gives the agent its page back', async () => {
    await open();
    const asking = agent.call('browser_request_user_action', { reason: 'Solve the puzzle', timeout: 60 });
    const request = page.getByRole('article', { name: 'Request: Solve the puzzle' });
    await request.waitFor();
    await take();
    await hasControl();
    await clickAt(PLACES.field);
    await page.keyboard.type('solved');
    await request.getByRole('button', { name: 'Done' }).click();
    expect(JSON.parse((await asking).text)).toMatchObject({ status: 'done' });
    await page.getByText('Control was handed back').waitFor();
    expect((await agent.call('browser_snapshot', {})).text).toContain('solved');
  });
});

describe('a login that the agent asks for', () => {
  it('is done by a person, and the model sees neither name nor password', async () => {
    const { username, password } = console.site.login;
    await agent.call('browser_navigate', { url: `${console.site.url}/login` });
    const asking = agent.call('browser_request_user_action', { reason: 'Log in to the bakery', timeout: 60 });
    const request = page.getByRole('article', { name: 'Request: Log in to the bakery' });
    await request.waitFor();
    await take();
    await hasControl();
    const waiting = agent.call('browser_snapshot');
    await page.getByText('One call of the agent waits').waitFor();
    await clickAt(5);
    for (const text of [username, password]) {
      await page.keyboard.press('Tab');
      await page.keyboard.type(text);
    }
    await page.keyboard.press('Enter');
    await shownTab('Orders').waitFor();
    await request.getByRole('button', { name: 'Done' }).click();
    const told = [await asking, await waiting, await agent.call('browser_snapshot')].map(({ text }) => text);
    expect(told.at(-1)).toContain('Welcome back, Ada');
    const { events } = await console.sessions.listEvents(lease.sessionId, { limit: 200 });
    for (const secret of [username, password]) expect(JSON.stringify([told, events])).not.toContain(secret);
  });
});

describe('the end', () => {
  beforeEach(() => open());

  it('signing out closes the sockets of this sign-in within a second, and no other', async () => {
    const socket = new WebSocket(
      `${console.stack.console.url.replace('http', 'ws')}/api/browser-sessions/${lease.sessionId}/live`,
      LIVE_PROTOCOL,
      { headers: { cookie: await cookie(), origin: console.stack.console.url } },
    );
    const closed = new Promise<number>(resolve => socket.once('close', resolve));
    await page.getByText('The agent acts on the browser').waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    expect(await closed).toBe(LIVE_CLOSE.revoked);
    await signIn(page);
  });

  it('the live view says that the lease has ended', async () => {
    await page.getByText('The agent acts on the browser').waitFor();
    await lease.end();
    await page
      .getByText(/The live view has ended: the lease has ended|released by its platform/)
      .first()
      .waitFor();
    await eventually('no picture is left', async () => (await page.locator('.screen').count()) === 0);
    expect(console.faults.filter(fault => !fault.startsWith('request to ws'))).toEqual([]);
  });
});

describe('replay', () => {
  it('[B11] [N7] the video is beside the timeline of calls and takeovers, an event seeks to its place, and it can be had as MP4', async () => {
    const videos = await eventually('the videos', async () => {
      const artifacts = await console.sessions.listArtifacts(lease.sessionId);
      const recorded = artifacts.filter(({ kind }) => kind === 'video');
      return recorded.length >= 2 && recorded.every(({ state }) => state === 'stored') && recorded;
    });
    await page.goto(`${sessionUrl()}/replay`);
    const video = page.locator('video');
    await eventually('its length', () =>
      video.evaluate(each => (each as unknown as { duration: number }).duration > 0),
    );
    const place = () => video.evaluate(each => (each as unknown as { currentTime: number }).currentTime);
    await page.getByLabel('Speed').selectOption({ label: '4×' });
    expect(await video.evaluate(each => (each as unknown as { playbackRate: number }).playbackRate)).toBe(4);
    const chapters = page.locator('.chapters button');
    for (const kind of ['browser_navigate', 'control.taken'])
      await chapters.filter({ hasText: kind }).first().waitFor();
    await chapters.filter({ hasText: 'user_action.requested' }).first().click();
    await eventually('the place of the request', async () => (await place()) > 1);
    for (const tone of ['call', 'person']) expect(await page.locator(`.track .${tone}`).count()).toBeGreaterThan(0);
    expect(await page.locator('.chapters [aria-current=true]').innerText()).toContain('user_action.requested');

    expect(await phoneFaults(page)).toEqual([]);

    const download = page.waitForEvent('download');
    await page.getByRole('link', { name: 'Download as MP4' }).click();
    const mp4 = await readFile(await (await download).path());
    expect((await download).suggestedFilename()).toMatch(/^tab-\d+\.mp4$/);
    expect(mp4.subarray(4, 8).toString()).toBe('ftyp');
    expect(mp4.includes('avc1')).toBe(true);

    // Seeking needs parts.
    const source = await video.getAttribute('src');
    const tab = page.locator('.replay label', { hasText: 'Tab' }).locator('select');
    const other = (await tab.locator('option:not(:checked)').first().getAttribute('value')) ?? '';
    await tab.selectOption(other);
    await eventually('the video of the other tab', async () => (await video.getAttribute('src'))?.includes(other));
    const part = await context().request.get(`${console.stack.console.url}${source}`, {
      headers: { range: 'bytes=4-11' },
    });
    expect(part.status()).toBe(206);
    expect((await part.body()).length).toBe(8);
    expect(part.headers()['content-range']).toMatch(/^bytes 4-11\/\d+$/);
    expect(videos.length).toBeGreaterThanOrEqual(2);

    for (const { uri } of videos) await rm(new URL(uri ?? ''));
    await page.reload();
    await page.getByRole('alert').filter({ hasText: 'This video cannot be read' }).waitFor();
  });
});
