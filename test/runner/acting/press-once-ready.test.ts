import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { aimAt } from '../../../runner/acting/aim.ts';
import { pressOnceReady } from '../../../runner/acting/press-once-ready.ts';
import { startBrowser } from '../browser/start-browser.ts';

let browser: Awaited<ReturnType<typeof startBrowser>>;
let page: Page;
beforeAll(async () => {
  browser = await startBrowser();
  page = await browser.context.newPage();
});
afterAll(() => browser[Symbol.asyncDispose]());

const RECORD = `<script>const seen = []; for (const type of ['mousemove', 'mousedown', 'click'])
  addEventListener(type, ({ target, clientX, clientY }) => seen.push([type, target.id, clientX, clientY]), true)</script>`;
const BUTTON = '<button id=pay style="width:200px;height:80px">Pay</button>';

/** The events that the page saw, each as `[type, id of its target, x, y]`. */
async function press(body: string): Promise<{ pressed: boolean; seen: [string, string, number, number][] }> {
  await page.goto('about:blank'); // a document of its own, and the names in it
  await page.mouse.move(900, 700);
  await page.setContent(`<!doctype html>${RECORD}${body}`);
  const aim = await aimAt(page, '#pay', true);
  const pressed = aim !== undefined && (await pressOnceReady(page, aim, { timeout: 1_500 }));
  return { pressed, seen: await page.evaluate('seen') };
}

it('clicks a button that stands still once, after two movements on it', async () => {
  const { pressed, seen } = await press(BUTTON);
  expect(pressed).toBe(true);
  const [first, second, ...rest] = seen.filter(([, target]) => target === 'pay');
  expect([first?.[0], second?.[0], ...rest.map(([type]) => type)]).toEqual([
    ...['mousemove', 'mousemove', 'mousedown', 'click'],
  ]);
  expect(first?.slice(2)).not.toEqual(second?.slice(2));
});

it.each([
  ['disabled', `<button id=pay disabled>Pay</button>`],
  ['invisible', '<button id=pay style="visibility:hidden">Pay</button>'],
  ['covered', `${BUTTON}<div id=cover style="position:fixed;inset:0;background:white">Wait</div>`],
  [
    'moving',
    `${BUTTON}<script>let left = 0; (function move() { pay.style.marginLeft = (left += 2) + 'px'; requestAnimationFrame(move) })()</script>`,
  ],
  ['one of two', `${BUTTON}${BUTTON}`],
])('leaves a button that is %s, and presses nothing', async (_, body) => {
  const { pressed, seen } = await press(body);
  expect(pressed).toBe(false);
  expect(seen.filter(([type]) => type !== 'mousemove')).toEqual([]);
});

it('keeps its click from what comes between it and the button', async () => {
  // The cover comes with the last movement, right before the press.
  const { pressed } = await press(`${BUTTON}<div id=cover hidden style="position:fixed;inset:0"></div>
<script>let moves = 0; const clicks = []; pay.onmousemove = () => { if (++moves === 2) cover.hidden = false };
cover.onmousedown = cover.onclick = () => clicks.push(1)</script>`);
  expect(pressed).toBe(false);
  expect(await page.evaluate('clicks.length')).toBe(0);
});

it('says that it pressed where the page then answers nothing', async () => {
  const busy = press(
    `${BUTTON}<script>pay.onclick = () => { const end = Date.now() + 3000; while (Date.now() < end); }</script>`,
  );
  await expect(busy).rejects.toThrow('performing click action');
});

it('is done with a click that opens a dialog once the dialog is answered', async () => {
  page.once('dialog', dialog => void dialog.accept());
  const { pressed } = await press(`${BUTTON}<script>pay.onclick = () => confirm('Sure?')</script>`);
  expect(pressed).toBe(true);
});
