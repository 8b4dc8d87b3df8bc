import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { createZstdCompress, createZstdDecompress } from 'node:zlib';
import { type BrowserContext, chromium } from 'playwright-core';
import { type Bulk, fill, LOGIN_AGAIN, STORED } from './profile-site.ts';

/** Figures of a profile that are measured in the same way for every store. */
export interface Figures {
  readonly first_save_bytes: number;
  readonly next_save_bytes: number;
  readonly pause_ms: number;
  readonly restore_ms: number;
}

/** After this Chromium has written localStorage; a browser that is closed at once may lose it. */
const LOCAL_STORAGE_MS = 6_000;

const launch = (executablePath: string, folder: string): Promise<BrowserContext> =>
  chromium.launchPersistentContext(folder, { executablePath, chromiumSandbox: process.getuid?.() !== 0 });

async function withFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'omicron-bench-profile-'));
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function open(context: BrowserContext, url: string) {
  const page = await context.newPage();
  await page.goto(url);
  return page;
}

const msSince = (startMs: number): number => Math.round(performance.now() - startMs);

/** The browser is closed, its whole folder written as one archive, and it is started again. */
export function tarOfTheFolder(executable: string, url: string, bulk: Bulk): Promise<Figures> {
  return withFolder(async root => {
    const [data, archive] = [join(root, 'data'), join(root, 'profile.tar.zst')];
    const pack = async () => {
      const tar = spawn('tar', ['-C', data, '-cf', '-', '.'], { stdio: ['ignore', 'pipe', 'inherit'] });
      await pipeline(tar.stdout, createZstdCompress(), createWriteStream(archive));
      return (await stat(archive)).size;
    };
    let context = await launch(executable, data);
    const page = await open(context, url);
    for (const call of fill(bulk)) await page.evaluate(`(${call})()`);
    await context.close();
    const first_save_bytes = await pack();
    context = await launch(executable, data);
    await (await open(context, url)).evaluate(`(${LOGIN_AGAIN})()`);
    await sleep(LOCAL_STORAGE_MS);
    const pausedMs = performance.now();
    await context.close();
    const next_save_bytes = await pack();
    context = await launch(executable, data);
    const pause_ms = msSince(pausedMs);
    await context.close();
    const restoredMs = performance.now();
    const copy = join(root, 'copy');
    await mkdir(copy);
    const tar = spawn('tar', ['-C', copy, '-xf', '-'], { stdio: ['pipe', 'inherit', 'inherit'] });
    const ended = once(tar, 'exit');
    await pipeline(createReadStream(archive), createZstdDecompress(), tar.stdin);
    await ended;
    context = await launch(executable, copy);
    if (!(await (await open(context, url)).evaluate(`(${STORED})()`))) throw new Error('the archive has no login');
    const restore_ms = msSince(restoredMs);
    await context.close();
    return { first_save_bytes, next_save_bytes, pause_ms, restore_ms };
  });
}

/** Playwright writes cookies, localStorage and IndexedDB as JSON. No page need stop, but it is busy meanwhile. */
export async function storageState(executable: string, url: string, bulk: Bulk): Promise<Figures> {
  const browser = await chromium.launch({
    executablePath: executable,
    chromiumSandbox: process.getuid?.() !== 0,
  });
  try {
    const context = await browser.newContext();
    const page = await open(context, url);
    for (const call of fill(bulk)) await page.evaluate(`(${call})()`);
    const first = await context.storageState({ indexedDB: true });
    await page.evaluate(`(${LOGIN_AGAIN})()`);
    const pausedMs = performance.now();
    const next = await context.storageState({ indexedDB: true });
    const pause_ms = msSince(pausedMs);
    await context.close();
    const restoredMs = performance.now();
    const restored = await browser.newContext({ storageState: next });
    if (!(await (await open(restored, url)).evaluate(`(${STORED})()`))) throw new Error('the state has no login');
    const restore_ms = msSince(restoredMs);
    const bytesOf = (state: object) => Buffer.byteLength(JSON.stringify(state));
    return { first_save_bytes: bytesOf(first), next_save_bytes: bytesOf(next), pause_ms, restore_ms };
  } finally {
    await browser.close();
  }
}
