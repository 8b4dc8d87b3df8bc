import type { Frame, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { redactor } from '../../../runner/reporting/redact.ts';
import { type Documents, trackDocuments } from '../../../runner/secrecy/documents.ts';
import { type PictureSite, SECRET, startPictureSite } from './picture-site.ts';

/** Two names of one server: two sites. */
const [HERE, ELSEWHERE] = ['127.0.0.1', 'localhost'];

let site: PictureSite;
let page: Page;
let documents: Documents;
beforeAll(async () => {
  site = await startPictureSite({
    plain: '<input id=p>',
    other: '<p>Another page.</p>',
    framing: '<iframe src="/plain"></iframe>',
    'framing elsewhere': `<iframe id=f></iframe><script>f.src = location.href.replace('${ELSEWHERE}', '${HERE}').replace(/[^/]*$/, 'plain')</script>`,
  });
});
afterAll(() => site.close());
beforeEach(async () => {
  const tab = await site.tab();
  page = tab.page;
  const { holds } = redactor({ SHOP_PASSWORD: SECRET });
  documents = trackDocuments(tab.context, async text => holds(text));
  await page.goto(site.url('plain'));
  return () => tab.context.close();
});

const fill = (frame: Frame = page.mainFrame()) => documents.filled(frame);
const tainted = (tab: Page = page) => documents.isTainted(tab);

/** A tab that a script of the page opened, and its address. */
async function opened(script: string): Promise<Page> {
  const [tab] = await Promise.all([page.context().waitForEvent('page'), page.evaluate(script)]);
  await tab.waitForLoadState();
  return tab;
}

test('nothing is tainted before a value was filled in', async () => {
  await page.goto(site.url(SECRET));
  expect(documents.isGuarding()).toBe(false);
  expect(await tainted()).toBe(false);
});

test('a secret that an earlier lease left in a storage taints, once that is looked for', async () => {
  await page.evaluate(value => localStorage.setItem('kept', encodeURIComponent(value)), SECRET);
  expect(await tainted()).toBe(false);
  documents.guard();
  expect(await tainted()).toBe(true);
  await page.evaluate(() => localStorage.clear());
  await page.goto(site.url('other'));
  expect(await tainted()).toBe(false);
});

test.each<[string, () => Promise<unknown>]>([
  ['a new address alone', () => page.evaluate("history.pushState(0, '', '/other')")],
  ['a fragment', () => page.evaluate("location.hash = '#x'")],
  ['a field that is cleared and removed', () => page.evaluate("p.value = ''; p.remove()")],
  ['a body that is written again', () => page.evaluate("document.body.innerHTML = ''")],
  ['a document that is opened again', () => page.evaluate("document.open(); document.write('new'); document.close()")],
])('%s leaves the document tainted', async (_, change) => {
  fill();
  await change();
  expect(await tainted()).toBe(true);
});

test.each<[string, () => Promise<unknown>]>([
  ['another page', () => page.goto(site.url('other'))],
  ['the same page again', () => page.reload()],
  ['another site', () => page.goto(site.url('other', ELSEWHERE))],
])('%s is not tainted', async (_, leave) => {
  fill();
  expect(await tainted()).toBe(true);
  await leave();
  expect(await tainted()).toBe(false);
});

test('a page that was left is loaded again when one goes back to it', async () => {
  fill();
  await page.goto(site.url('other'));
  await page.goBack();
  expect(await tainted()).toBe(false);
});

test('documents of its site in other tabs are tainted, those of other sites are not', async () => {
  const [same, other] = [await page.context().newPage(), await page.context().newPage()];
  await same.goto(site.url('other'));
  await other.goto(site.url('other', ELSEWHERE));
  fill();
  expect([await tainted(same), await tainted(other)]).toEqual([true, false]);
  // One that is loaded while the first one lives is reached by it too.
  await same.goto(site.url('plain'));
  expect(await tainted(same)).toBe(true);
  await page.goto('about:blank');
  await same.goto(site.url('plain'));
  expect(await tainted(same)).toBe(false);
});

test('a frame taints the tab around it, whatever site that is of', async () => {
  await page.goto(site.url('framing elsewhere', ELSEWHERE));
  const frame = page.frames().find(each => each.url().includes(HERE));
  if (frame === undefined) throw new Error('no frame');
  fill(frame);
  expect(await tainted()).toBe(true);
  await page.evaluate('f.remove()');
  expect(await tainted()).toBe(false);
});

test.each([
  "window.tab = open('/other')",
  "window.tab = open('about:blank')",
  "open(URL.createObjectURL(new Blob(['x'], { type: 'text/html' })))",
])('a tab that the document opened is tainted, and stays so when it is gone: %s', async script => {
  fill();
  const tab = await opened(script);
  expect(await tainted(tab)).toBe(true);
  await page.goto('about:blank');
  expect(await tainted(tab)).toBe(true);
});

const VALUE = JSON.stringify(SECRET);
const FILE = `navigator.storage.getDirectory()
  .then(folder => folder.getFileHandle('kept', { create: true }))
  .then(file => file.createWritable())
  .then(async file => { await file.write(${VALUE}); await file.close(); })`;
const stored = (value: string) => `new Promise((resolve, reject) => {
  const opening = indexedDB.open('kept');
  opening.onerror = reject;
  opening.onupgradeneeded = () => opening.result.createObjectStore('values').put(${value}, 1);
  opening.onsuccess = () => resolve(opening.result.close());
})`;

test.each<[string, string, (tab: Page) => Promise<unknown>]>([
  ['its address', 'plain', tab => tab.goto(`${site.url('other')}?v=${SECRET}`)],
  ['its text', 'plain', tab => tab.goto(`${site.url('print')}?p=${SECRET}`)],
  ['its name', 'plain', tab => tab.evaluate(value => Object.assign(globalThis, { name: value }), SECRET)],
  ['a storage', 'plain', tab => tab.evaluate(`localStorage.kept = ${JSON.stringify(SECRET)}`)],
  ['a cookie', 'plain', tab => tab.evaluate(`document.cookie = 'kept=' + ${JSON.stringify(SECRET)}`)],
  [
    'a cookie for another path',
    'plain',
    tab => tab.evaluate(`document.cookie = 'kept=' + ${JSON.stringify(SECRET)} + '; path=/other'`),
  ],
  [
    'a cache',
    'plain',
    tab => tab.evaluate(`caches.open('kept').then(kept => kept.put('/me', new Response(${VALUE})))`),
  ],
  ['a file of its own', 'plain', tab => tab.evaluate(FILE)],
  ['bytes in a database', 'plain', tab => tab.evaluate(stored(`new TextEncoder().encode(${VALUE}).buffer`))],
  ['a file in a database', 'plain', tab => tab.evaluate(stored(`new Blob([${VALUE}])`))],
])('a document that holds the value in %s is tainted', async (_, name, put) => {
  fill();
  await page.goto(site.url(name));
  expect(await tainted()).toBe(false);
  await put(page);
  expect(await tainted()).toBe(true);
});

test('a request that a tainted document sends right after it took another address is known to be its own', async () => {
  fill();
  const [request] = await Promise.all([
    page.waitForEvent('request'),
    page.evaluate("history.pushState(0, '', '/other'); void fetch('/told')"),
  ]);
  expect(documents.isFromTainted(request)).toBe(true);
  await page.goto(site.url('other'));
  const [own] = await Promise.all([page.waitForEvent('request'), page.evaluate("void fetch('/told')")]);
  expect(documents.isFromTainted(own)).toBe(false);
});

test('a document in which code of the agent ran is scripted, as are those that it reaches, until it is gone', async () => {
  const same = await page.context().newPage();
  await same.goto(site.url('other'));
  documents.runsScript(page);
  expect([await documents.isScripted(page.mainFrame()), await documents.isScripted(same.mainFrame())]).toEqual([
    true,
    true,
  ]);
  await page.reload();
  // The other one may have put code into it.
  expect(await documents.isScripted(page.mainFrame())).toBe(true);
  await same.close();
  await page.reload();
  expect(await documents.isScripted(page.mainFrame())).toBe(false);
});
