import { readFile, rm } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import type { Lease } from '../../client/lease.ts';
import { LIVE_CLOSE, LIVE_PROTOCOL } from '../../contract/live-limits.ts';
import type { McpBrowser } from '../../local/mcp-browser.ts';
import { eventually } from '../eventually.ts';
import { formPage, GREEN, type LiveView, openLiveView, PLACES } from './live-view.ts';
import { accessibilityFaults, type OpenConsole, phoneFaults } from './open-console.ts';

let live: LiveView;
let console: OpenConsole;
let page: Page;
let agent: McpBrowser;
let lease: Lease;
beforeAll(async () => {
  live = await openLiveView();
  ({ console, page, agent, lease } = live);
});
afterAll(() => live?.[Symbol.asyncDispose]());

const FORM =
  formPage(`<input id=t style="top:100px"><button style="top:300px" onclick="this.textContent='pressed'">press</button>
<button style="top:500px" onclick="this.textContent='answered ' + prompt('which loaf?', 'rye')">ask</button>
<input type=file style="top:700px" onchange="document.title='has ' + this.files[0].name">`);

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
    const own = { cookie: await live.cookie(), origin: console.stack.console.url };
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
    await live.open();
    await page.getByText('The agent acts on the browser').waitFor();
    expect(seen[0]).toMatch(/\/live\?role=control$/);
    expect(seen.join('\n')).not.toMatch(/eyJ/); // how a JWT begins
  });
});

describe('the live view', () => {
  beforeAll(async () => {
    await agent.call('browser_navigate', { url: FORM });
    await live.open();
  });

  it('[A3] shows the page, its address and its title, and after a reload within a second', async () => {
    await live.sees(GREEN);
    await live.shownTab('Form').waitFor();
    await page.reload();
    await live.sees(GREEN);
  });

  it('follows the agent from tab to tab', async () => {
    await agent.call('browser_tabs', {
      action: 'new',
      url: 'data:text/html,<title>Second</title><body style="background:rgb(150,0,0)">',
    });
    await live.sees([150, 0, 0]);
    await agent.call('browser_tabs', { action: 'select', index: 0 });
    await live.sees(GREEN);
    await live.shownTab('Form').waitFor();
  });

  it('[A4] a person takes control and acts: clicks, types in any layout, pastes, copies, answers, gives a file', async () => {
    await live.take();
    await live.hasControl();
    const waiting = agent.call('browser_snapshot', {});
    await page.getByText('One call of the agent waits').waitFor();

    await live.clickAt(PLACES.field);
    await page.keyboard.type('dr');
    await page.keyboard.insertText('ü'); // as a phone's keyboard does
    await page.keyboard.press('Backspace');
    await page.evaluate('navigator.clipboard.writeText("ink ☕")');
    await page.keyboard.press('Control+v');
    const cdp = await console.context.newCDPSession(page);
    await cdp.send('Input.imeSetComposition', { text: 'に', selectionStart: 1, selectionEnd: 1 });
    await cdp.send('Input.insertText', { text: '日本' }); // what the composition ends with
    await page.keyboard.press('Control+a');
    await page.keyboard.press('Control+c');
    await eventually(
      'the clipboard',
      async () => (await page.evaluate('navigator.clipboard.readText()')) === 'drink ☕日本',
    );

    await live.clickAt(PLACES.press);
    await page.locator('.ring').waitFor({ state: 'attached' }); // over the picture, not in the page
    await live.clickAt(PLACES.ask);
    const dialog = page.getByRole('region', { name: 'The page says' });
    await dialog.getByLabel('Answer').fill('spelt');
    await dialog.getByRole('button', { name: 'OK' }).click();
    await dialog.waitFor({ state: 'hidden' });
    await live.clickAt(PLACES.file);
    await page
      .getByLabel('The page asks for a file')
      .setInputFiles({ name: 'order.txt', mimeType: 'text/plain', buffer: Buffer.from('rye') });
    await live.shownTab('has order.txt').waitFor();

    await live.handBack();
    await page.getByText('Control was handed back').waitFor();
    const { text } = await waiting;
    for (const each of ['drink ☕日本', 'button "pressed"', 'button "answered spelt"', 'A person acted'])
      expect(text).toContain(each);
  });

  it('[A4] switches and closes tabs, goes to an address, back and forward', async () => {
    await live.take();
    await live.hasControl();
    const press = (name: string) => page.getByRole('button', { name, exact: true }).click();
    await press('Second');
    await live.sees([150, 0, 0]);
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
    await live.sees([150, 0, 0]);
    await press('Close Second');
    await live.sees(GREEN);
    await live.handBack();
  });

  it('[A11] a reload keeps control; a second person sees who has it and takes it, and the first reads who did and why', async () => {
    await agent.call('browser_navigate', {
      url: formPage(
        `<input style="top:100px" onkeydown="document.title += event.key" onkeyup="document.title += ' ' + event.key + '-up'">`,
      ),
    });
    await live.take();
    await live.hasControl();
    await using other = await console.browser.newContext();
    const rival = await other.newPage();
    await live.signIn(rival);
    await live.open(rival);
    await rival.getByText('operator 1 has control').waitFor();
    await page.reload();
    await live.hasControl();
    await live.sees(GREEN);
    await live.clickAt(PLACES.field);
    await page.keyboard.down('Shift');
    await live.shownTab('Shift').waitFor();

    await rival.getByRole('button', { name: 'Take over' }).click();
    const question = rival.getByRole('form', { name: 'Take control from operator 1' });
    expect(await accessibilityFaults(rival)).toEqual([]);
    await question.getByLabel('Why').press('Escape');
    await rival.getByRole('button', { name: 'Take over' }).click();
    await question.getByLabel('Why').fill('The rye is sold out');
    await question.getByRole('button', { name: 'Take control from operator 1' }).click();
    await live.hasControl(rival);
    await page.getByText('operator 2 took control from you: “The rye is sold out”').waitFor();
    await live.shownTab('Shift-up').waitFor(); // what the first one held is lifted
    await page.keyboard.up('Shift');
    await page.keyboard.type('not mine');
    const waiting = agent.call('browser_snapshot', {});
    await page.getByText('One call of the agent waits').waitFor();
    await live.clickAt(PLACES.field, rival);
    await rival.keyboard.type('wheat');
    await live.handBack(rival);
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
    await live.open();
    const asking = agent.call('browser_request_user_action', { reason: 'Solve the puzzle', timeout: 60 });
    const request = page.getByRole('article', { name: 'Request: Solve the puzzle' });
    await request.waitFor();
    await live.take();
    await live.hasControl();
    await live.clickAt(PLACES.field);
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
    await live.take();
    await live.hasControl();
    const waiting = agent.call('browser_snapshot');
    await page.getByText('One call of the agent waits').waitFor();
    await live.clickAt(5);
    for (const text of [username, password]) {
      await page.keyboard.press('Tab');
      await page.keyboard.type(text);
    }
    await page.keyboard.press('Enter');
    await live.shownTab('Orders').waitFor();
    await request.getByRole('button', { name: 'Done' }).click();
    const told = [await asking, await waiting, await agent.call('browser_snapshot')].map(({ text }) => text);
    expect(told.at(-1)).toContain('Welcome back, Ada');
    const { events } = await console.sessions.listEvents(lease.sessionId, { limit: 200 });
    for (const secret of [username, password]) expect(JSON.stringify([told, events])).not.toContain(secret);
  });
});

describe('the end', () => {
  beforeEach(() => live.open());

  it('signing out closes the sockets of this sign-in within a second, and no other', async () => {
    const socket = new WebSocket(
      `${console.stack.console.url.replace('http', 'ws')}/api/browser-sessions/${lease.sessionId}/live`,
      LIVE_PROTOCOL,
      { headers: { cookie: await live.cookie(), origin: console.stack.console.url } },
    );
    const closed = new Promise<number>(resolve => socket.once('close', resolve));
    await page.getByText('The agent acts on the browser').waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    expect(await closed).toBe(LIVE_CLOSE.revoked);
    await live.signIn(page);
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
    await page.goto(`${live.sessionUrl}/replay`);
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
    const part = await console.context.request.get(`${console.stack.console.url}${source}`, {
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
