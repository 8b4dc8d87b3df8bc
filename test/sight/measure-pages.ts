import { readFileSync } from 'node:fs';
import { type Browser, chromium, type Page } from 'playwright-core';
import * as z from 'zod';
import { findTools } from '../../local/machine-tools.ts';
import { VIEWPORT } from '../../runner/browser/context-options.ts';
import { playwrightFrame } from '../../runner/browser/playwright-frame.ts';
import { TOKENS_DEFAULT, TOKENS_MAX } from '../../runner/budget/fit.ts';
import { findInOutline } from '../../runner/snapshot/find.ts';
import { layout } from '../../runner/snapshot/layout.ts';
import { outlineOf } from '../../runner/snapshot/outline.ts';
import { type SnapshotWriter, snapshotWriter } from '../../runner/snapshot/writer.ts';
import { tokensOf } from '../tokens/tokens.ts';

/** One page beside what a person sees there. */
export interface PageSight {
  readonly path: string;
  readonly controls: number;
  readonly shown: number;
  readonly characters: number;
  readonly told: number;
  readonly isCollapsed: boolean;
  readonly fits: boolean;
  readonly tokens: number;
  readonly tokensUpstream: number;
  readonly answer: string;
  readonly missedControls: readonly string[];
  readonly missedTexts: readonly string[];
}

const truth = z.object({
  controls: z.array(z.object({ path: z.string(), isShown: z.boolean(), html: z.string() })),
  texts: z.array(z.string()),
});
const TRUTH = readFileSync(new URL('./truth.page.js', import.meta.url), 'utf8')
  .replace(/^\/\/.*\n/gm, '')
  .replace(/;\s*$/, '');
/** Notes which elements listen, before a page's own scripts run. */
const LISTENS = `{ const add = EventTarget.prototype.addEventListener;
EventTarget.prototype.addEventListener = function (type, ...rest) {
  if (/^(?:click|mousedown|mouseup|dblclick)$/.test(type) && this instanceof Element && this !== document.body && this !== document.documentElement)
    this.setAttribute('data-sight-listens', '');
  return add.call(this, type, ...rest);
}; }`;
const MARK = `({ injected }, refs) => {
  for (const ref of refs) injected._lastAriaSnapshotForQuery?.info.get(ref)?.element.setAttribute('data-sight-ref', ref);
}`;
const ANSWER_MS = 10_000;

export async function measurePages(origin: string, paths: readonly string[]): Promise<PageSight[]> {
  const browser = await chromium.launch({
    executablePath: findTools(process.env).browser ?? '',
    chromiumSandbox: false,
  });
  try {
    const measured: PageSight[] = [];
    for (const path of paths) {
      const sight = await measurePage(browser, origin, path).catch(
        (error: unknown) => void process.stderr.write(`${path}: ${error}\n`),
      );
      if (sight !== undefined) measured.push(sight);
    }
    return measured;
  } finally {
    await browser.close();
  }
}

async function measurePage(browser: Browser, origin: string, path: string): Promise<PageSight> {
  const context = await browser.newContext({ viewport: VIEWPORT });
  try {
    await context.addInitScript(LISTENS);
    await context.route(
      url => url.origin !== origin,
      route => route.abort(),
    );
    const page = await context.newPage();
    await page.goto(`${origin}/${path}`, { waitUntil: 'load', timeout: ANSWER_MS });
    await page.evaluate(() => new Promise(resolve => setTimeout(resolve, 300)));
    const writer = snapshotWriter(
      context,
      async text => text,
      async () => undefined,
      {
        outlineOf: async (...given) => outlineOf(...given),
        find: async (...given) => findInOutline(...given),
        layout: async (...given) => layout(...given),
      },
    );
    const tokensUpstream = tokensOf(await page.locator('body').ariaSnapshot({ mode: 'ai', timeout: ANSWER_MS }));
    const wide = await look(writer, page, TOKENS_MAX);
    const answer = await look(writer, page, TOKENS_DEFAULT);
    const refs = [...answer.matchAll(/\[ref=(\w+)\]/g)].map(([, ref]) => ref);
    await playwrightFrame(page.mainFrame()).selectors.callOnSelector({ selector: 'body', strict: false }, MARK, refs);
    const { controls, texts } = truth.parse(await page.evaluate(`(${TRUTH})()`));
    return { path, ...compare(answer, wide, controls, texts), tokensUpstream };
  } finally {
    await context.close();
  }
}

const look = async (writer: SnapshotWriter, page: Page, tokensMax: number): Promise<string> =>
  (await writer.whole(page, { snapshot: 'full', tokensMax, timeoutMs: ANSWER_MS }, AbortSignal.timeout(ANSWER_MS))) ??
  '';

const CUT = /^ *\((?:cut: |\d+ more of )/m;
const plain = (text: string): string =>
  text
    .normalize('NFKC')
    .replace(/\\[nt"\\]|[^\p{L}\p{N}]/gu, '')
    .toLowerCase();

function compare(
  answer: string,
  wide: string,
  controls: z.infer<typeof truth>['controls'],
  texts: readonly string[],
): Omit<PageSight, 'path' | 'tokensUpstream'> {
  const said = plain(answer);
  const parts = texts.flatMap(text => text.match(/(?:\S+\s*){1,12}/g) ?? []);
  const missed = parts.filter(text => !said.includes(plain(text)));
  const lengthOf = (all: readonly string[]) => all.reduce((sum, text) => sum + plain(text).length, 0);
  const [characters, notTold] = [lengthOf(parts), lengthOf(missed)];
  const fits = tokensOf(wide) <= TOKENS_DEFAULT && !CUT.test(wide);
  return {
    controls: controls.length,
    shown: controls.filter(({ isShown }) => isShown).length,
    characters,
    told: characters - notTold,
    fits,
    isCollapsed: fits && CUT.test(answer),
    tokens: tokensOf(answer),
    answer,
    missedControls: controls
      .filter(({ isShown }) => !isShown)
      .map(({ path, html }) => `${path}   ${html.replace(/\s+/g, ' ')}`),
    missedTexts: missed,
  };
}
