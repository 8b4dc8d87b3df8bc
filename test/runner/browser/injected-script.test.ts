import type { ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, Socket } from 'node:net';
import { chromium, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { launchBrowser, type RunnerBrowser } from '../../../runner/browser/browser.ts';
import { browserPath } from '../../../runner/browser/browser-path.ts';
import { injectedScript } from '../../../runner/browser/injected-script.ts';
import { createTempDir, type TempDir } from '../../../runner/browser/temp-dir.ts';

/** Playwright's script is longer, and nothing else that it sends for a look at a page is half of that. */
const SCRIPT_BYTES = 300_000;

/** A page that puts its own things under the name by which Chromium keeps the script. */
const PAGE = `<!doctype html><title>Page</title><script>
globalThis[Symbol.for('omicron-browser.injected')] = () => { document.title = 'called'; throw new Error('of the page'); };
</script><iframe name="Symbol(omicron-browser.injected)" srcdoc="<button>in a frame</button>"></iframe><button>here</button>`;

let site: Server;
let url: (path: string) => string;
beforeAll(async () => {
  site = createServer((_request, response) => void response.setHeader('content-type', 'text/html').end(PAGE));
  await new Promise<void>(listening => site.listen(0, '127.0.0.1', listening));
  url = path => `http://127.0.0.1:${(site.address() as AddressInfo).port}/${path}`; // a TCP server has a port
});
afterAll(() => {
  site.close();
});

describe.each([
  ['whose context is in memory', false],
  ['whose context is in a folder', true],
])('a browser %s', (_, kept) => {
  let temp: TempDir;
  let browser: RunnerBrowser;
  let pipe: Socket;
  beforeEach(async () => {
    temp = createTempDir(randomUUID());
    const spawned: ChildProcess[] = [];
    const onSpawn = (message: unknown) => spawned.push((message as { process: ChildProcess }).process);
    subscribe('child_process', onSpawn);
    const searchPath = process.env.PATH ?? '';
    browser = await launchBrowser({
      executable: browserPath(process.env.OMICRON_CHROMIUM, searchPath, () => chromium.executablePath()),
      ...{ sandbox: true, tempDir: temp.path, egressUrl: undefined, searchPath },
      ...(kept ? { userDataDir: temp.profile } : {}),
    }).finally(() => unsubscribe('child_process', onSpawn));
    const written = spawned.map(({ stdio }) => stdio[3]).find(stream => stream instanceof Socket);
    if (written === undefined) throw new Error('no browser was started over a pipe');
    pipe = written;
  });
  afterEach(async () => {
    await browser.close();
    temp.remove();
  });

  /** Bytes that Chromium is sent until what is looked for was found. */
  async function sentFor(page: Page): Promise<number> {
    const before = pipe.bytesWritten;
    expect(await page.getByRole('button', { name: 'here' }).textContent()).toBe('here');
    expect(await page.frameLocator('iframe').getByRole('button').textContent()).toBe('in a frame');
    return pipe.bytesWritten - before;
  }
  const onlyPage = (): Page => {
    const [page] = browser.context.pages();
    if (page === undefined) throw new Error('the browser has no page');
    return page;
  };

  it('is sent the script once, for all documents that come after', async () => {
    const page = onlyPage();
    await page.goto(url('first'));
    expect(await sentFor(page)).toBeGreaterThan(SCRIPT_BYTES);
    for (const path of ['second', 'third']) {
      await page.goto(url(path));
      expect(await sentFor(page)).toBeLessThan(SCRIPT_BYTES / 2);
    }
    expect(await page.title()).toBe('Page');
  });

  it('is sent the script for a document from before', async () => {
    const later = await browser.context.newPage();
    await later.goto(url('before'));
    const page = onlyPage();
    await page.goto(url('first'));
    await sentFor(page);
    expect(await sentFor(later)).toBeGreaterThan(SCRIPT_BYTES);
    await later.goto(url('after'));
    expect(await sentFor(later)).toBeLessThan(SCRIPT_BYTES / 2);
  });

  it('keeps it for the tabs that a page opens', async () => {
    const page = onlyPage();
    await page.goto(url('first'));
    await sentFor(page);
    const [popup] = await Promise.all([page.waitForEvent('popup'), page.evaluate('void open("/popup")')]);
    await popup.waitForLoadState();
    expect(await sentFor(popup)).toBeLessThan(SCRIPT_BYTES / 2);
  });
});

it('passes on as it is what it does not know', () => {
  const script = injectedScript();
  const long = JSON.stringify({ id: 1, method: 'Runtime.evaluate', params: { expression: 'x'.repeat(SCRIPT_BYTES) } });
  expect(script.send(long)).toBe(long);
  expect(script.send(long)).toBe(long);
  expect(script.receive(Buffer.from('{"id":1,"result":{}}\0'))).toEqual({ pass: true });
});
