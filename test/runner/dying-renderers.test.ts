import { randomInt, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { chromium, type Page } from 'playwright-core';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { BROWSER_PID_FILE } from '../../contract/names.ts';
import { launchBrowser, type RunnerBrowser } from '../../runner/browser/browser.ts';
import { browserPath } from '../../runner/browser/browser-path.ts';
import { sessionOf } from '../../runner/browser/page-session.ts';
import { createTempDir, type TempDir } from '../../runner/browser/temp-dir.ts';
import { captureVisible } from '../../runner/browser/visible-picture.ts';
import { captureTabs } from '../../runner/capture/captures.ts';
import { guardPictures } from '../../runner/secrecy/pictures.ts';
import { realClock } from '../../time/clock.ts';
import { killAll } from './process-kinds.ts';

const DEATHS = 200;
const TABS = 5;
/** A picture takes about a third of this: a renderer dies before, in, or right after one. */
const PICTURES_MS = 300;
/** Longer than that, pictures wait for the GPU process, and renderers die meanwhile. */
const HELD_MS = 30;
const PAGE = `data:text/html,<title>Page</title><body>${'<p style="box-shadow:0 0 9px red">text</p>'.repeat(500)}`;

let temp: TempDir;
let browser: RunnerBrowser;
let captures: ReturnType<typeof captureTabs>;
beforeEach(async () => {
  temp = createTempDir(randomUUID());
  const searchPath = process.env.PATH ?? '';
  browser = await launchBrowser({
    executable: browserPath(process.env.OMICRON_CHROMIUM, searchPath, () => chromium.executablePath()),
    ...{ sandbox: true, tempDir: temp.path, egressUrl: undefined, searchPath },
  });
  const { context } = browser;
  captures = captureTabs({ context, pictures: guardPictures(context), clock: realClock });
});
afterEach(async () => {
  await browser.close();
  temp.remove();
});

/** Pictures of what is visible, of an element and of the whole page, until the tab is gone; a watched tab is the fourth kind. */
async function takePictures(page: Page, gone: AbortSignal): Promise<void> {
  const repeat = async (shoot: () => Promise<unknown>) => {
    while (!gone.aborted && !browser.isGone()) await shoot().catch(() => undefined);
  };
  await Promise.all([
    repeat(() => captureVisible(page, 'png', 10_000)),
    repeat(() => page.locator('p').first().screenshot({ timeout: 10_000 })),
    repeat(() => page.screenshot({ fullPage: true, timeout: 10_000 })),
  ]);
}

/** Ends the renderers of five tabs under pictures of their pages. */
async function killUnderPictures(isBySignal: boolean): Promise<void> {
  const { context } = browser;
  const pages = await Promise.all(Array.from({ length: TABS }, () => context.newPage()));
  await Promise.all(pages.map(page => page.goto(PAGE)));
  const crashed = pages.map(page => page.waitForEvent('crash', { timeout: 20_000 }).catch(() => undefined));
  const watched = pages.map(page => captures.watch(page, () => undefined, 'live').catch(() => undefined));
  const gone = new AbortController();
  const taken = pages.map(page => takePictures(page, gone.signal));
  await delay(randomInt(PICTURES_MS));
  const browserPid = Number(readFileSync(join(temp.path, BROWSER_PID_FILE), 'utf8'));
  killAll(browserPid, 'GPU', 'SIGSTOP');
  await delay(randomInt(HELD_MS));
  // Half of them by themselves, half as the page guard ends a page that floods.
  if (isBySignal) killAll(browserPid, 'renderer');
  else
    for (const page of pages) void sessionOf(page).then(session => session.send('Page.crash').catch(() => undefined));
  await Promise.race([Promise.all(crashed), browser.gone]);
  killAll(browserPid, 'GPU', 'SIGCONT');
  gone.abort();
  await Promise.all(pages.map(page => page.close()));
  await Promise.all([...taken, ...watched]);
}

// Pictures of the surface, as Chromium takes them by default, let some 5 of 200 take it: docs/upstream/screenshot-crash.md.
test(`none of ${DEATHS} renderers that die under pictures of their pages takes the browser`, async () => {
  for (let deaths = 0; deaths < DEATHS; deaths += TABS) {
    await killUnderPictures(deaths % (2 * TABS) === 0).catch(error => {
      if (!browser.isGone()) throw error;
    });
    if (browser.isGone()) throw new Error(`after ${deaths} deaths: ${JSON.stringify(await browser.end())}`);
  }
  const page = await browser.context.newPage();
  await page.goto(PAGE);
  expect(await page.title()).toBe('Page');
  expect((await captureVisible(page, 'png', 10_000)).length).toBeGreaterThan(1_000);
}, 600_000);
