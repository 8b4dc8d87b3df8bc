import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import type { Snapshot } from '../../../contract/assignment.ts';
import { findTools } from '../../../local/machine-tools.ts';
import { type Settler, settler } from '../../../runner/settle/settle.ts';
import { findInOutline } from '../../../runner/snapshot/find.ts';
import { layout } from '../../../runner/snapshot/layout.ts';
import { outlineOf } from '../../../runner/snapshot/outline.ts';
import { type SnapshotWriter, snapshotWriter } from '../../../runner/snapshot/writer.ts';

let browser: Browser;
let context: BrowserContext;
let page: Page;
let settling: Settler;
let writer: SnapshotWriter;
let body = '';

beforeAll(async () => {
  browser = await chromium.launch({ executablePath: findTools(process.env).browser ?? '', chromiumSandbox: false });
});
afterAll(() => browser?.close());
beforeEach(async () => {
  context = await browser.newContext();
  await context.route('**/*', route =>
    route.fulfill({ contentType: 'text/html', body: `<!doctype html><title>State</title>${body}` }),
  );
  page = await context.newPage();
  // On a busy machine too every look has its answer: without one a page counts as changed.
  settling = settler(context, {
    nowMs: () => performance.now(),
    awaited: { arrived: async () => undefined },
    answerMs: 30_000,
  });
  writer = snapshotWriter(context, async text => text, settling.look, {
    outlineOf: async (...page) => outlineOf(...page),
    find: async (...search) => findInOutline(...search),
    layout: async (...lines) => layout(...lines),
  });
});
afterEach(() => context?.close());

/** Report of the page after a call that did nothing. */
async function told(snapshot: Snapshot = 'changes'): Promise<string> {
  settling.begin(snapshot === 'changes');
  return writer.after(page, { snapshot, tokensMax: 4_000 }, AbortSignal.timeout(10_000));
}

async function open(html: string): Promise<void> {
  body = html;
  await page.goto('http://state.test/');
  expect(await told()).toContain('### Page');
}

const ICON = '<button aria-label=Bell></button>';
const HIDDEN = `<p>Hello</p><style>[aria-label=Bell] { visibility: hidden }</style>${ICON}`;

/** Changes that a page's script makes, and the text that shows each. Mutation observers miss most of them. */
const CHANGES: Readonly<Record<string, readonly [html: string, change: string, shows: RegExp]>> = {
  'a text': ['<p id=it>before</p>', "it.textContent = 'AFTER'", /AFTER/],
  'an attribute': [ICON, "document.querySelector('button').disabled = true", /Bell.*disabled/],
  'a style': [HIDDEN, "document.querySelector('button').style.visibility = 'visible'", /Bell/],
  'a class': [
    `${HIDDEN}<style>.on { visibility: visible !important }</style>`,
    "document.querySelector('button').className = 'on'",
    /Bell/,
  ],
  'the value of a field': ['<input id=it aria-label=City>', "it.value = 'Ulm'", /City.*Ulm/],
  'the value of a text area': ['<textarea id=it aria-label=City></textarea>', "it.value = 'Ulm'", /City.*Ulm/],
  'a tick': ['<input id=it type=checkbox aria-label=Terms>', 'it.checked = true', /Terms.*checked/],
  'half a tick': ['<input id=it type=checkbox aria-label=All>', 'it.indeterminate = true', /All.*mixed/],
  'a choice': ['<select id=it aria-label=Size><option>S<option>L</select>', 'it.selectedIndex = 1', /Size.*: L/],
  'one more choice of several': [
    '<select id=it multiple aria-label=Sizes><option selected>S<option>L</select>',
    'it.options[1].selected = true',
    /selected.*: L/,
  ],
  'a form that is reset': [
    '<form id=it><input name=city aria-label=City value=Bonn></form><script>it.city.value = "Ulm"</script>',
    'it.reset()',
    /City.*Bonn/,
  ],
  'the focus': ['<button id=it>Go</button>', 'it.focus()', /Go.*active/],
  'a rule of a stylesheet': [
    HIDDEN,
    "document.styleSheets[0].insertRule('button { visibility: visible !important }', 1)",
    /Bell/,
  ],
  'a stylesheet that is off': [HIDDEN, 'document.styleSheets[0].disabled = true', /Bell/],
  'a stylesheet of scripts': [
    HIDDEN,
    "const sheet = new CSSStyleSheet(); sheet.replaceSync('button { visibility: visible !important }'); document.adoptedStyleSheets = [sheet]",
    /Bell/,
  ],
  'what a rule says of a text': [
    '<style>p { display: none }</style><p>AFTER</p>',
    "document.styleSheets[0].cssRules[0].style.display = 'block'",
    /AFTER/,
  ],
  'a popover': ['<div id=it popover>AFTER</div>', 'it.showPopover()', /AFTER/],
  'a popover without a text': [`<div id=it popover>${ICON}</div>`, 'it.showPopover()', /Bell/],
  'a dialog': ['<dialog id=it>AFTER</dialog>', 'it.showModal()', /AFTER/],
  'a shadow root of an element that is there': [
    '<div id=it></div>',
    `it.attachShadow({ mode: 'open' }).innerHTML = '${ICON}'`,
    /Bell/,
  ],
  'a field in a shadow root': [
    `<div id=it></div><script>it.attachShadow({ mode: 'open' }).innerHTML = '<input aria-label=City>'</script>`,
    "it.shadowRoot.querySelector('input').value = 'Ulm'",
    /City.*Ulm/,
  ],
  'a rule in a shadow root': [
    `<div id=it></div><script>it.attachShadow({ mode: 'open' }).innerHTML = '<style>p { display: none }</style><p>AFTER</p>'</script>`,
    "it.shadowRoot.styleSheets[0].cssRules[0].style.display = 'block'",
    /AFTER/,
  ],
  'the title': ['<p>Hello</p>', "document.title = 'AFTER'", /AFTER/],
  'the address': ['<p>Hello</p>', "history.pushState(0, '', '/after')", /state\.test\/after/],
  'the place on the page': [
    `${HIDDEN}<style>#it:target { visibility: visible }</style>`,
    "document.querySelector('button').id = 'it'; location.hash = 'it'",
    /Bell/,
  ],
};

test.each(Object.entries(CHANGES))('a page is not read again until a script changes it: %s', async (_, given) => {
  const [html, change, shows] = given;
  await open(html);
  const read = vi.spyOn(page, 'ariaSnapshotJSON');
  expect(await told()).toContain('No changes.');
  expect(await told()).toMatch(/^### Snapshot 3, changes since snapshot 2\n/);
  expect(read).not.toHaveBeenCalled();
  await page.evaluate(change);
  expect(await told()).toMatch(shows);
});

test('reports changes that the mouse alone makes', async () => {
  await open(`${HIDDEN}<style>p:hover ~ button { visibility: visible !important }</style>`);
  await page.mouse.move(20, 30);
  await page.waitForFunction("document.querySelector('p:hover') !== null");
  expect(await told()).toContain('Bell');
});

test('reports changes that the window size alone makes', async () => {
  await open(`${HIDDEN}<style>@media (max-width: 500px) { button { visibility: visible !important } }</style>`);
  await page.setViewportSize({ width: 400, height: 600 });
  expect(await told()).toContain('Bell');
});

test.each([
  ['an animation', 'animation: 1ms 600s forwards show'],
  ['a transition', 'transition: visibility 1ms 600s; visibility: visible !important'],
])('a page is read again while it moves: %s', async (_, style) => {
  await open(`${HIDDEN}<style>@keyframes show { to { visibility: visible } } .on { ${style} }</style>`);
  await page.evaluate("document.querySelector('button').className = 'on'");
  expect(await told()).not.toContain('Bell');
  await page.evaluate('for (const animation of document.getAnimations()) animation.finish()');
  expect(await told()).toContain('Bell');
});

test('a page with a frame is read each time', async () => {
  await open('<iframe srcdoc="<p id=it>before</p>"></iframe>');
  await page.frames()[1]?.evaluate("it.textContent = 'AFTER'");
  expect(await told()).toContain('AFTER');
});

test('reports another document in full', async () => {
  await open('<p>Hello</p>');
  await page.reload();
  expect(await told()).toContain('### Page');
});

test('reports whole pages on request', async () => {
  await open('<p>Hello</p>');
  expect(await told('full')).toContain('Hello');
});
