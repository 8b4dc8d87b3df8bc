import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { findTools } from '../../../local/machine-tools.ts';
import { sessionOf } from '../../../runner/browser/page-session.ts';
import { type Settler, settler } from '../../../runner/settle/settle.ts';

let browser: Browser;
let page: Page;
let settling: Settler;

beforeAll(async () => {
  browser = await chromium.launch({ executablePath: findTools(process.env).browser ?? '', chromiumSandbox: false });
});
afterAll(() => browser?.close());
afterEach(() => page?.context().close());

async function open(html: string): Promise<void> {
  const context = await browser.newContext();
  await context.route('**/*', route => route.fulfill({ contentType: 'text/html', body: `<!doctype html>${html}` }));
  page = await context.newPage();
  settling = settler(context, {
    nowMs: () => performance.now(),
    awaited: { arrived: async () => undefined },
    answerMs: 30_000,
  });
  await page.goto('http://keys.test/');
  await page.locator('[autofocus]:not(:focus)').waitFor({ state: 'detached' }); // focused in the first frame
}

/** How long the page was given to show a change: `all` of 350 ms, or two `frames` where nothing moves. */
async function waitAfter(key: string): Promise<'all' | 'frames'> {
  const sent = vi.spyOn(await sessionOf(page), 'send');
  await settling.settled(page, () => page.keyboard.press(key), { isKey: true });
  const asked = sent.mock.calls.map(([, given]) => JSON.stringify(given)).filter(each => each.includes('.quiet('));
  sent.mockRestore();
  expect(asked.length).toBeGreaterThan(0);
  return asked.every(each => each.includes('unheardMs\\":34')) ? 'frames' : 'all';
}

test('a key that no script hears of is not waited for, in a text and in a field', async () => {
  await open('<p>Text</p><input aria-label=City>');
  expect(await waitAfter('Escape')).toBe('frames');
  await page.locator('input').focus();
  expect(await waitAfter('a')).toBe('frames');
});

const CHANGES_LATE = "setTimeout(() => { document.querySelector('p').textContent = 'LATE' }, 200)";

test.each([
  ['the document', `<p></p><script>document.addEventListener('keyup', () => ${CHANGES_LATE})</script>`],
  ['the window', `<p></p><script>onkeydown = () => ${CHANGES_LATE}</script>`],
  ['an element around the focus', `<p></p><div onkeypress="${CHANGES_LATE}"><input autofocus></div>`],
  ['a form that is sent', `<p></p><form onsubmit="${CHANGES_LATE}; return false"><input autofocus></form>`],
  [
    'a shadow root',
    `<p></p><div id=host></div><script>host.attachShadow({ mode: 'open' }).innerHTML = '<input>';
const field = host.shadowRoot.querySelector('input'); field.onbeforeinput = field.onkeydown = () => ${CHANGES_LATE}; field.focus()</script>`,
  ],
  [
    'a frame',
    `<p></p><iframe srcdoc="<input><script>document.body.firstChild.onkeydown = () => parent.late(); document.body.firstChild.focus()</script>"></iframe>
<script>late = () => ${CHANGES_LATE}</script>`,
  ],
  [
    'a closed shadow root',
    `<p></p><my-field></my-field><script>const inside = document.querySelector('my-field').attachShadow({ mode: 'closed' });
inside.innerHTML = '<input>'; inside.firstChild.onkeydown = () => ${CHANGES_LATE}; inside.firstChild.focus()</script>`,
  ],
])('a key that a script may hear of is waited for: %s', async (_, html) => {
  await open(html);
  expect(await waitAfter('Enter')).toBe('all');
  expect(await page.locator('p').textContent()).toBe('LATE');
});

test('a key that moves the focus or the page is waited for, since scripts may hear of that', async () => {
  const far = '<div style="height: 5000px"></div>';
  await open(`<p></p><button onfocus="${CHANGES_LATE}">Go</button>${far}`);
  await waitAfter('Tab');
  expect(await page.locator('p').textContent()).toBe('LATE');
  await open(`<p></p>${far}<script>addEventListener('scroll', () => ${CHANGES_LATE}, { once: true })</script>`);
  await waitAfter('End');
  expect(await page.locator('p').textContent()).toBe('LATE');
});
