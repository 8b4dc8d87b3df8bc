import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { findTools } from '../../../local/machine-tools.ts';
import { type AriaNode, ariaTree } from '../../../runner/snapshot/aria-tree.ts';

let browser: Browser;
let page: Page;

beforeAll(async () => {
  browser = await chromium.launch({ executablePath: findTools(process.env).browser ?? '', chromiumSandbox: false });
});
afterAll(() => browser?.close());
afterEach(() => page?.context().close());

const PLAIN = '<p>Prices</p><div id=card>Card</div>';
const LISTENS = '<div id=card>Card</div><script>card.onclick = () => {}</script>';

/** Opens documents of a site, by their paths. */
async function open(bodies: Readonly<Record<string, string>>): Promise<void> {
  const context = await browser.newContext();
  await context.route('**/*', route =>
    route.fulfill({
      contentType: 'text/html',
      body: `<!doctype html>${bodies[new URL(route.request().url()).pathname] ?? ''}`,
    }),
  );
  page = await context.newPage();
  await page.goto('http://site.test/plain');
}

const nodesIn = (nodes: readonly (AriaNode | string)[]): AriaNode[] =>
  nodes.flatMap(node => (typeof node === 'string' ? [] : [node, ...nodesIn(node.children ?? [])]));

/** Whether an agent can act on the card, and all that is shown. */
async function look(): Promise<{ readonly acts: boolean; readonly shown: string }> {
  const { tree } = await ariaTree(page, 5_000, new AbortController().signal);
  const shown = JSON.stringify(tree);
  return { acts: nodesIn(tree).some(({ acts, text }) => acts === true && text === 'Card'), shown };
}

test('an element that listens since the last look has a ref at the next one', async () => {
  await open({ '/plain': PLAIN });
  for (let n = 0; n < 3; n += 1) expect(await look()).toMatchObject({ acts: false });
  await page.evaluate("document.getElementById('card').addEventListener('click', () => {})");
  expect(await look()).toMatchObject({ acts: true });
  expect(await look()).toMatchObject({ acts: true });
});

test('an element of the next document that listens has a ref at the first look', async () => {
  await open({ '/plain': PLAIN, '/listens': LISTENS });
  expect(await look()).toMatchObject({ acts: false });
  await page.goto('http://site.test/listens');
  expect(await look()).toMatchObject({ acts: true });
  await page.goto('http://site.test/plain');
  expect(await look()).toMatchObject({ acts: false });
});

test('texts that a style puts there since the last look are shown', async () => {
  await open({ '/plain': PLAIN });
  for (let n = 0; n < 2; n += 1) expect((await look()).shown).not.toContain('NEW');
  await page.addStyleTag({ content: '#card::before { content: "NEW" }' });
  expect((await look()).shown).toContain('NEW');
});
