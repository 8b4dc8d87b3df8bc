import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { McpBrowser } from '../../local/mcp-browser.ts';
import { eventually } from '../eventually.ts';
import { formPage, GREEN, type LiveView, openLiveView, PLACES } from './live-view.ts';
import { accessibilityFaults, type OpenConsole, phoneFaults } from './open-console.ts';

let live: LiveView;
let console: OpenConsole;
let page: Page;
let agent: McpBrowser;
beforeAll(async () => {
  live = await openLiveView();
  ({ console, page, agent } = live);
  await agent.call('browser_navigate', { url: formPage('') });
  await live.open();
});
afterAll(() => live?.[Symbol.asyncDispose]());

// More of what a person does in the live view than live.test.ts shows.
describe('a person in the live view', () => {
  it('passes axe and fits a phone, in the console and as a preview, in light and dark', async () => {
    await live.take();
    await live.hasControl();
    expect(await phoneFaults(page)).toEqual([]);
    await live.handBack();
    await page.goto(`${console.stack.console.url}/preview/${live.lease.sessionId}`);
    await page.getByText('The agent acts on the browser').waitFor();
    expect(await phoneFaults(page)).toEqual([]);
    await live.open();
  });

  it('[A4] reloads by its button', async () => {
    // says how it was loaded, https://developer.mozilla.org/docs/Web/API/PerformanceNavigationTiming/type
    const loaded = `<script>document.title = performance.getEntriesByType('navigation')[0].type</script>`;
    await agent.call('browser_tabs', { action: 'new', url: `data:text/html,${encodeURIComponent(loaded)}` });
    await live.shownTab('navigate').waitFor();
    await live.take();
    await live.hasControl();
    await page.getByRole('button', { name: 'Reload', exact: true }).click();
    await live.shownTab('reload').waitFor();
    await page.getByRole('button', { name: 'Close reload' }).click();
    await live.sees(GREEN);
    await live.handBack();
  });

  it('[A4] too much at once is said to the person, and a burst of keys is typed whole: the connection stays', async () => {
    await agent.call('browser_navigate', {
      url: formPage(`<input style="top:100px" onkeydown="if (event.key === 'Enter') document.title = this.value.length + ' characters'">
        <input type=file multiple style="top:700px" onchange="document.title = 'has ' + this.files.length">`),
    });
    let closed = 0;
    page.once('websocket', socket => socket.on('close', () => (closed += 1)));
    await page.reload();
    await live.sees(GREEN);
    await live.take();
    await live.hasControl();
    await live.clickAt(PLACES.file);
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
    await live.shownTab('has 2').waitFor();

    const address = page.getByLabel('Address');
    await address.fill(`${console.site.url}/?${'a'.repeat(9_000)}`);
    await address.press('Enter');
    expect(await address.evaluate(field => (field as unknown as { validationMessage: string }).validationMessage)).toBe(
      'An address has 8192 characters at most.',
    );

    // as a password manager types
    const typed = 'The rye is sold out. '.repeat(12);
    await live.clickAt(PLACES.field);
    const cdp = await console.context.newCDPSession(page);
    const key = (type: 'keyDown' | 'keyUp', text: string) =>
      cdp.send('Input.dispatchKeyEvent', { type, key: text, code: text, ...(type === 'keyDown' && { text }) });
    await Promise.all([...typed].flatMap(text => [key('keyDown', text), key('keyUp', text)]));
    await cdp.detach();
    await page.keyboard.press('Enter');
    await live.shownTab(`${typed.length} characters`).waitFor();
    expect(closed).toBe(0);
    await live.handBack();
  });

  it('offers lists, dates and colours, which are in no picture: what is chosen beside the field is set in the page', async () => {
    const field = (tag: string, top: number) =>
      `${tag.replace('>', ` style="top:${top}px" onchange="document.title += ' ' + this.value">`)}`;
    await agent.call('browser_navigate', {
      url: formPage(
        field('<select>', PLACES.field - 30) +
          '<option>rye<option>wheat<optgroup label=x disabled><option>spelt</optgroup></select>' +
          field('<input type=date value="2026-03-17">', PLACES.press - 30) +
          field('<input type=color value="#102030">', PLACES.ask - 30) +
          field('<input>', PLACES.file - 30),
      ),
    });
    await live.take();
    await live.hasControl();
    await live.sees(GREEN);
    await live.clickAt(PLACES.field);
    const list = page.getByLabel("Options of the page's list");
    await list.waitFor();
    expect(await list.locator('option').allInnerTexts()).toEqual(['rye', 'wheat', 'spelt']);
    expect(await list.locator('option').last().isDisabled()).toBe(true);
    expect(await accessibilityFaults(page)).toEqual([]);
    await list.selectOption('wheat');
    await live.shownTab('wheat').waitFor();
    await list.waitFor({ state: 'detached' });
    for (const [place, label, value] of [
      [PLACES.press, 'Date', '2026-04-01'],
      [PLACES.ask, 'Colour', '#aabbcc'],
    ] as const) {
      await live.clickAt(place);
      await page.getByLabel(label, { exact: true }).fill(value);
      await page.getByRole('button', { name: 'Set', exact: true }).click();
      await live.shownTab(value).waitFor();
    }
    await live.clickAt(PLACES.ask);
    await page.getByLabel('Colour', { exact: true }).waitFor();
    await live.clickAt(PLACES.file);
    await page.getByLabel('Colour', { exact: true }).waitFor({ state: 'detached' });
    await live.handBack();
  });

  it('a finger taps, and moves what it is on', async () => {
    await agent.call('browser_navigate', {
      url: formPage(
        `<button style="top:300px" onclick="document.title += ' tapped'">tap</button>
        <div style="top:500px;touch-action:none;background:red" ontouchmove="document.title += ' moved ' + this.innerText">me</div>`,
      ),
    });
    await live.take();
    await live.hasControl();
    await live.sees(GREEN);
    const canvas = await page.locator('.screen canvas').boundingBox();
    const { x = 0, y = 0, width = 0, height = 0 } = canvas ?? {};
    const at = (top: number) => ({ x: x + (400 / 1920) * width, y: y + (top / 1080) * height });
    const cdp = await console.context.newCDPSession(page);
    const touch = (type: 'touchStart' | 'touchMove' | 'touchEnd', ...touchPoints: { x: number; y: number }[]) =>
      cdp.send('Input.dispatchTouchEvent', { type, touchPoints });
    await touch('touchStart', at(PLACES.press));
    await touch('touchEnd');
    await live.shownTab('tapped').waitFor();
    await touch('touchStart', at(PLACES.ask));
    for (const by of [5, 10, 20, 40, 60]) await touch('touchMove', at(PLACES.ask + by));
    await touch('touchEnd');
    await live.shownTab('moved me').waitFor();
    await cdp.detach();
    await live.handBack();
  });

  it('keys that are held when control is lost are lifted', async () => {
    await agent.call('browser_navigate', {
      url: formPage(
        `<input style="top:100px" onkeydown="document.title += event.key + '-down '" onkeyup="document.title += event.key + '-up '">`,
      ),
    });
    await live.take();
    await live.hasControl();
    await eventually('the field to have the focus', async () => {
      await live.clickAt(PLACES.field);
      await page.keyboard.press('x');
      return live
        .shownTab('x-down')
        .waitFor({ timeout: 3_000 })
        .then(
          () => true,
          () => false,
        );
    });
    await page.keyboard.down('Shift');
    await live.shownTab('Shift-down').waitFor();
    await page.getByRole('button', { name: 'Hand back' }).focus();
    await live.shownTab('Shift-up').waitFor();
    await page.keyboard.up('Shift');
    await live.handBack();
  });
});
