import { randomUUID } from 'node:crypto';
import { chromium } from 'playwright-core';
import { launchBrowser, type RunnerBrowser } from '../../../runner/browser/browser.ts';
import { browserPath } from '../../../runner/browser/browser-path.ts';
import { createTempDir } from '../../../runner/browser/temp-dir.ts';

/** A browser as a runner has it, without a runner; its folder goes with it. */
export async function startBrowser(): Promise<RunnerBrowser & AsyncDisposable> {
  const temp = createTempDir(randomUUID());
  const searchPath = process.env.PATH ?? '';
  const browser = await launchBrowser({
    executable: browserPath(process.env.OMICRON_CHROMIUM, searchPath, () => chromium.executablePath()),
    ...{ sandbox: true, tempDir: temp.path, egressUrl: undefined, searchPath },
  });
  return Object.assign(browser, {
    async [Symbol.asyncDispose]() {
      await browser.close();
      temp.remove();
    },
  });
}
