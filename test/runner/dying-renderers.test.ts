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
/** A picture takes about so long: a renderer dies before, in, or right after one. */
const PICTURE_MS = 120;
const PAGE = `data:text/html,<title>Page</title><body>${'<p style="box-shadow:0 0 9px red">text</p>'.repeat(500)}`;

/**
 * With the feature that Playwright enables the browser died of each of them. Chromium still has a rarer crash of its main process, of one
 * renderer in about a thousand: docs/upstream/screenshot-crash.md.
 */
const BROWSER_DEATHS_MAX = 2;

let temp: TempDir;
let browser: RunnerBrowser;
let captures: ReturnType<typeof captureTabs>;
async function launch(): Promise<void> {
  temp = createTempDir(randomUUID());
  const searchPath = process.env.PATH ?? '';
  browser = await launchBrowser({
    executable: browserPath(process.env.OMICRON_CHROMIUM, searchPath, () => chromium.executablePath()),
    ...{ sandbox: true, tempDir: temp.path, egressUrl: undefined, searchPath },
  });
  const { context } = browser;
  captures = captureTabs({ context, pictures: guardPictures(context), clock: realClock });
}
beforeEach(launch);
afterEach(async () => {
  await browser.close();
  temp.remove();
});

/** The two ways in which tools take a picture; a watched tab is the third. */
async function takePictures(page: Page): Promise<void> {
  await Promise.all([
    captureVisible(page, 'png', 10_000).catch(() => undefined),
    page.screenshot({ fullPage: true, timeout: 10_000 }).catch(() => undefined),
  ]);
}

/** Ends the renderers of five tabs under pictures of their pages. */
async function killUnderPictures(isBySignal: boolean): Promise<void> {
  const { context } = browser;
  const pages = await Promise.all(Array.from({ length: TABS }, () => context.newPage()));
  await Promise.all(pages.map(page => page.goto(PAGE)));
  const crashed = pages.map(page => page.waitForEvent('crash', { timeout: 20_000 }).catch(() => undefined));
  const watched = pages.map(page => captures.watch(page, () => undefined, 'live').catch(() => undefined));
  const taken = pages.map(takePictures);
  await delay(randomInt(PICTURE_MS));
  // Half of them by themselves, half as the page guard ends a page that floods.
  if (isBySignal) killAll(Number(readFileSync(join(temp.path, BROWSER_PID_FILE), 'utf8')), 'renderer');
  else
    for (const page of pages) void sessionOf(page).then(session => session.send('Page.crash').catch(() => undefined));
  await Promise.race([Promise.all(crashed), browser.gone]);
  await Promise.all(pages.map(page => page.close()));
  await Promise.all([...taken, ...watched]);
}

test(`at most ${BROWSER_DEATHS_MAX} of ${DEATHS} renderers that die under pictures of their pages take the browser`, async () => {
  const ends: string[] = [];
  for (let deaths = 0; deaths < DEATHS; deaths += TABS) {
    await killUnderPictures(deaths % (2 * TABS) === 0).catch(error => {
      if (!browser.isGone()) throw error;
    });
    if (!browser.isGone()) continue;
    ends.push(`after ${deaths} deaths: ${JSON.stringify(await browser.end())}`);
    temp.remove();
    await launch();
  }
  expect(ends.length, ends.join('\n')).toBeLessThanOrEqual(BROWSER_DEATHS_MAX);
  const page = await browser.context.newPage();
  await page.goto(PAGE);
  expect(await page.title()).toBe('Page');
  expect((await captureVisible(page, 'png', 10_000)).length).toBeGreaterThan(1_000);
}, 600_000);
