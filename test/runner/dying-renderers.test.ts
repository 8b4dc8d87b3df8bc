import { randomInt, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
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

let temp: TempDir;
let browser: RunnerBrowser;
let browserPid: number;
beforeAll(async () => {
  temp = createTempDir(randomUUID());
  const searchPath = process.env.PATH ?? '';
  browser = await launchBrowser({
    executable: browserPath(process.env.OMICRON_CHROMIUM, searchPath, () => chromium.executablePath()),
    ...{ sandbox: true, tempDir: temp.path, egressUrl: undefined, searchPath },
  });
  browserPid = Number(readFileSync(join(temp.path, BROWSER_PID_FILE), 'utf8'));
});
afterAll(async () => {
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

test(`the browser lives while ${DEATHS} renderers die under pictures of their pages`, async () => {
  const { context } = browser;
  const captures = captureTabs({ context, pictures: guardPictures(context), clock: realClock });
  let deaths = 0;
  const fail = (error: Error) => {
    throw new Error(`after ${deaths} deaths: ${browser.lastLines()}`, { cause: error });
  };
  for (let round = 0; deaths < DEATHS; round++) {
    const pages = await Promise.all(Array.from({ length: TABS }, () => context.newPage())).catch(fail);
    await Promise.all(pages.map(page => page.goto(PAGE)));
    const crashed = pages.map(page => page.waitForEvent('crash', { timeout: 20_000 }).catch(() => undefined));
    const watched = pages.map(page => captures.watch(page, () => undefined, 'live').catch(() => undefined));
    const taken = pages.map(takePictures);
    const waitedMs = randomInt(PICTURE_MS);
    await delay(waitedMs);
    // Half of them by themselves, half as the page guard ends a page that floods.
    if (round % 2 === 0) killAll(browserPid, 'renderer');
    else
      for (const page of pages) void sessionOf(page).then(session => session.send('Page.crash').catch(() => undefined));
    await Promise.race([Promise.all(crashed), browser.gone]);
    expect(browser.isGone(), `after ${deaths} deaths, ${waitedMs} ms into a picture: ${browser.lastLines()}`).toBe(
      false,
    );
    deaths += TABS;
    await Promise.all(pages.map(page => page.close()));
    await Promise.all([...taken, ...watched]);
  }
  const page = await context.newPage();
  await page.goto(PAGE);
  expect(await page.title()).toBe('Page');
  expect((await captureVisible(page, 'png', 10_000)).length).toBeGreaterThan(1_000);
}, 600_000);
