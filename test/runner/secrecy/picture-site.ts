import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { type BrowserContext, chromium, type Page } from 'playwright-core';
import { launchBrowser } from '../../../runner/browser/browser.ts';
import { browserPath, commandPath } from '../../../runner/browser/browser-path.ts';
import { createTempDir } from '../../../runner/browser/temp-dir.ts';
import { captureTabs } from '../../../runner/capture/captures.ts';
import { uploadOrderWriter } from '../../../runner/lease/upload-order.ts';
import { startRecording } from '../../../runner/recording/recording.ts';
import { guardPictures, isWithheld, type Pictures } from '../../../runner/secrecy/pictures.ts';
import { putFieldText } from '../../../runner/secrecy/secret-field.ts';
import { realClock } from '../../../time/clock.ts';
import { rawPictures } from '../raw-pictures.ts';

/** Full blocks in green: wherever it is drawn, however small, a picture has many green pixels. */
export const SECRET = '████████▙▙▙▙';
export const STYLE = 'font:24px DejaVu Sans;color:#0f0;width:300px;height:34px;border:0';
export const at = (top: number) => `position:absolute;left:0;top:${top}px;${STYLE}`;
/** Pages have the field into which the value goes as `p`, and often a place for a copy as `m`. */
export const FIELD = `<input id=p type=password style="${at(0)}">`;
export const COPY = `<div id=m style="${at(100)}"></div>`;
export const onFill = (script: string) => `<script>p.addEventListener('input', () => { ${script} })</script>`;
export const always = (script: string) => `<script>setInterval(() => { ${script} }, 150)</script>`;
/** An image of the value. */
export const svg = (text: string) =>
  `'<svg xmlns="http://www.w3.org/2000/svg" width="400" height="60"><text y="40" font-size="24" fill="#0f0">' + ${text} + '</text></svg>'`;

/** For a half-sized picture: two rows of discs have 300, larger ones 600, seven blocks 900. */
export const GREEN_MIN = 650;
const SHOOT_MS = 700;
const searchPath = process.env.PATH ?? '';
const ffmpeg = commandPath('ffmpeg', searchPath) ?? 'ffmpeg';
/** Shows that a page would leak: with OMICRON_TEST_UNGUARDED=1 every row must fail. */
const UNGUARDED = process.env.OMICRON_TEST_UNGUARDED === '1';

export const leaks = (counts: readonly number[]): number => counts.filter(count => count > GREEN_MIN).length;

export interface Tab {
  readonly context: BrowserContext;
  readonly page: Page;
  readonly pictures: Pictures;
}

/** The pictures of one page. */
export interface Filmed {
  readonly inShots: readonly number[];
  readonly inVideo: readonly number[];
  readonly withheld: readonly string[];
}

/** A browser, and a server of pages by name; any other name prints the parameter `p`. */
export async function startPictureSite(pages: Readonly<Record<string, string>>) {
  const temp = createTempDir(randomUUID());
  const withoutFrames: string[] = [];
  // Frames come all the time.
  const clock =
    '<canvas id=clock width=20 height=20 style="position:fixed;right:0;bottom:0;background:#00f"></canvas><script>let ticks = 0; setInterval(() => { document.title = ++ticks }, 100)</script>';
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://site');
    const body = pages[decodeURIComponent(pathname.slice(1))] ?? `<p style="${at(0)}">${searchParams.get('p') ?? ''}`;
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' });
    response.end(`<!doctype html><title>x</title><body style="margin:0;background:#fff">${body}${clock}`);
  });
  server.listen(0, '127.0.0.1'); // also what localhost names
  await once(server, 'listening');
  const browser = await launchBrowser({
    executable: browserPath(process.env.OMICRON_CHROMIUM, searchPath, () => chromium.executablePath()),
    ...{ sandbox: true, tempDir: temp.path, egressUrl: undefined, searchPath },
  });
  const { port } = server.address() as AddressInfo; // a TCP server has a port

  async function tab(): Promise<Tab> {
    const context = await browser.newContext();
    const [page] = context.pages();
    if (page === undefined) throw new Error('no page');
    return { context, page, pictures: guard(context) };
  }

  async function record(context: BrowserContext, pictures: Pictures) {
    const outputDir = join(temp.path, randomUUID());
    const captures = captureTabs({ context, pictures, clock: realClock });
    const recording = startRecording({
      ...{ context, ffmpeg, outputDir, captures, clock: realClock },
      writeOrder: uploadOrderWriter(outputDir, order()),
      onStarted: () => {},
      onStopped: details => {
        throw new Error(JSON.stringify(details));
      },
    });
    await recording.ready;
    return { recording, outputDir, withoutPictures: captures.withoutPictures };
  }

  const url = (name: string, host = '127.0.0.1') => `http://${host}:${port}/${encodeURIComponent(name)}`;
  return {
    tab,
    url,
    record,
    /** Fills the value into a page by name, then looks at every tab, by pictures and in the video. */
    async film(name: string, afterwards?: (page: Page) => Promise<unknown>, wanted?: Wanted): Promise<Filmed> {
      const { context, page, pictures } = await tab();
      const { recording, outputDir, withoutPictures } = await record(context, pictures);
      await page.goto(url(name));
      await withoutPictures(() => fill(page, pictures));
      await afterwards?.(page);
      const { shots, withheld } = await shootAll(context, pictures);
      const tabs = context.pages().length;
      await recording.stop();
      await context.close();
      const files = Array.from({ length: tabs }, (_, n) => join(outputDir, `tab-00${n + 1}.webm`));
      const written = files.filter(file => existsSync(file) && statSync(file).size > 0);
      const inVideo = written.flatMap(file => greenIn(file, wanted));
      if (inVideo.length === 0) withoutFrames.push(name);
      return { inShots: greenIn(shots, wanted), inVideo, withheld };
    },
    /** Pages whose videos show nothing: of a page that is withheld there may be no frame. */
    withoutFrames: withoutFrames as readonly string[],
    async close() {
      await browser.close();
      server.close();
      temp.remove();
    },
  };
}

export type PictureSite = Awaited<ReturnType<typeof startPictureSite>>;

/** A picture as a tool takes it. */
export const shoot = (page: Page) => () => page.screenshot({ scale: 'css', caret: 'initial' });

async function shootAll(context: BrowserContext, pictures: Pictures) {
  const shots: Buffer[] = [];
  const withheld: string[] = [];
  const endMs = performance.now() + SHOOT_MS;
  while (performance.now() < endMs)
    for (const page of context.pages()) {
      const picture = await pictures.take(page, shoot(page));
      if (isWithheld(picture)) withheld.push(picture.withheld);
      else shots.push(picture);
    }
  return { shots, withheld };
}

export async function fill(page: Page, pictures: Pictures): Promise<void> {
  const field = await page.locator('#p').elementHandle();
  if (field === null) throw new Error('no field');
  await pictures.filled(page.mainFrame(), SECRET, 'password', () => field.inputValue());
  await field.evaluate(putFieldText, { text: SECRET, secret: true });
}

type Wanted = (r: number, g: number, b: number) => boolean;
const isGreen: Wanted = (r, g, b) => r < 130 && g > 140 && b < 130;

/** Green pixels (or others) of each frame of a video, or of each picture. */
export function greenIn(of: string | readonly Buffer[], wanted: Wanted = isGreen): number[] {
  if (of.length === 0) return [];
  const [width, height] = [960, 540];
  const isFile = typeof of === 'string';
  const from = isFile ? ['-i', of] : ['-f', 'image2pipe', '-i', 'pipe:0'];
  // For a picture of another size, the part below and to the left.
  const size = 'pad=w=max(iw\\,1920):h=max(ih\\,1080):color=white,crop=1920:1080:0:ih-1080';
  const to = rawPictures(`${size},scale=${width}:${height}:flags=area`);
  const raw = execFileSync(ffmpeg, ['-loglevel', 'error', ...from, ...to], {
    ...{ maxBuffer: 1 << 30, ...(isFile ? {} : { input: Buffer.concat(of) }) },
  });
  const bytes = width * height * 3;
  return Array.from({ length: raw.length / bytes }, (_, frame) => {
    let count = 0;
    for (let i = frame * bytes; i < (frame + 1) * bytes; i += 3)
      if (wanted(raw[i] ?? 0, raw[i + 1] ?? 0, raw[i + 2] ?? 0)) count += 1;
    return count;
  });
}

function guard(of: BrowserContext): Pictures {
  const pictures = guardPictures(of);
  if (!UNGUARDED) return pictures;
  return { ...pictures, isGuarding: () => false, take: (_page, take) => take(), filled: async () => undefined };
}

function order() {
  const id = randomUUID();
  return {
    ...{ session_id: id, epoch: 1, runner_id: id, record_video: true },
    ...{ artifacts_prefix: '', artifact_token: '' },
  };
}
