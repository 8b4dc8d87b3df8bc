import { randomUUID } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { chromium } from 'playwright-core';
import { expect, test } from 'vitest';
import { launchBrowser } from '../../runner/browser/browser.ts';
import { browserPath } from '../../runner/browser/browser-path.ts';
import { createTempDir } from '../../runner/browser/temp-dir.ts';
import { warmUp } from '../../runner/warm-up.ts';

test('a warm-up succeeds and leaves nothing: one blank context, no file', { timeout: 60_000 }, async () => {
  const temp = createTempDir(randomUUID());
  const searchPath = process.env.PATH ?? '';
  const browser = await launchBrowser({
    executable: browserPath(process.env.OMICRON_CHROMIUM, searchPath, () => chromium.executablePath()),
    sandbox: true,
    tempDir: temp.path,
    egressUrl: undefined,
    searchPath,
  });
  try {
    const files = readdirSync(temp.path).filter(name => !name.startsWith('playwright'));
    await warmUp(browser, temp.path);
    expect(browser.context.browser()?.contexts()).toEqual([browser.context]);
    expect(browser.context.pages().map(page => page.url())).toEqual(['about:blank']);
    expect(readdirSync(temp.path).filter(name => !name.startsWith('playwright'))).toEqual(files);
  } finally {
    await browser.close();
    temp.remove();
  }
});
