import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { expect, onTestFinished, test } from 'vitest';
import { launchBrowser } from '../../runner/browser/browser.ts';
import { browserPath } from '../../runner/browser/browser-path.ts';
import { createTempDir } from '../../runner/browser/temp-dir.ts';

const MIB = 1024 ** 2;

test('[D2] a site cannot fill the disk through the browser of a complete profile', async () => {
  const server = createServer((_, response) => response.setHeader('content-type', 'text/html').end('<p>stores</p>'));
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const temp = createTempDir(randomUUID());
  const searchPath = process.env.PATH ?? '';
  const browser = await launchBrowser({
    executable: browserPath(process.env.OMICRON_CHROMIUM, searchPath, () => chromium.executablePath()),
    ...{ sandbox: true, tempDir: temp.path, egressUrl: undefined, searchPath },
    userDataDir: join(temp.path, 'data'),
    storedBytesMax: 32 * MIB,
  });
  onTestFinished(async () => {
    await browser.close();
    server.close();
    temp.remove();
  });
  const [page] = browser.context.pages();
  const { port } = server.address() as AddressInfo; // a TCP server has a port
  await page?.goto(`http://127.0.0.1:${port}/`);
  const stored = await page?.evaluate(`(async () => {
    const file = await (await navigator.storage.getDirectory()).getFileHandle('endless', { create: true });
    const to = await file.createWritable();
    for (let mib = 0; mib < 64; mib += 4)
      try { await to.write(new Uint8Array(4 * ${MIB})) } catch (error) { return { mib, error: error.name } }
    return 'all of it';
  })()`);
  expect(stored).toMatchObject({ error: 'QuotaExceededError' });
});
