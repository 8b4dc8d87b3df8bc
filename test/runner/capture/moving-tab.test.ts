import { randomUUID } from 'node:crypto';
import { chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { realClock } from '../../../http/clock.ts';
import { launchBrowser, type RunnerBrowser } from '../../../runner/browser/browser.ts';
import { browserPath } from '../../../runner/browser/browser-path.ts';
import { createTempDir, type TempDir } from '../../../runner/browser/temp-dir.ts';
import { captureTabs } from '../../../runner/capture/captures.ts';
import { guardPictures } from '../../../runner/secrecy/pictures.ts';

/** So many that some are caught between two renderers: with a single try this failed each time. */
const TABS = 15;

let temp: TempDir;
let browser: RunnerBrowser;
beforeAll(async () => {
  temp = createTempDir(randomUUID());
  const searchPath = process.env.PATH ?? '';
  browser = await launchBrowser({
    executable: browserPath(process.env.OMICRON_CHROMIUM, searchPath, () => chromium.executablePath()),
    ...{ sandbox: true, tempDir: temp.path, egressUrl: undefined, searchPath },
  });
});
afterAll(async () => {
  await browser.close();
  temp.remove();
});

test('a tab that goes from one renderer to another just then is captured all the same', async () => {
  const { context } = browser;
  const captures = captureTabs({ context, pictures: guardPictures(context), clock: realClock });
  const opened = new Promise<void>((resolve, reject) => {
    let captured = 0;
    context.on('page', (page: Page) => {
      const first = Promise.withResolvers<void>();
      captures
        .watch(page, () => first.resolve())
        .then(() => first.promise)
        .then(() => {
          captured += 1;
          if (captured === TABS) resolve();
        }, reject);
    });
  });
  for (let n = 0; n < TABS; n++) {
    const page = await context.newPage();
    await page.goto(`data:text/html,<title>${n}</title>`);
  }
  await expect(opened).resolves.toBeUndefined();
});
