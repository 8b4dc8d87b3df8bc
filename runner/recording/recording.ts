import { mkdir, open, rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { BrowserContext, Page } from 'playwright-core';
import { UPLOAD_ORDER_FILE, type UploadOrder } from '../../contract/reports.ts';
import type { Clock } from '../../http/clock.ts';
import { VIEWPORT } from '../browser/browser.ts';
import type { Pictures } from '../secrecy/pictures.ts';
import { videoFile } from './ffmpeg.ts';
import { type FrameMask, frameMask, frameWriter } from './frames.ts';
import { guardedFrames } from './guarded-frames.ts';

/**
 * Video of a lease: one file per tab, in the output folder. Frames come from the browser's screencast and are encoded
 * by a process of this runner's; Playwright's own recordVideo would have to start with the context, before it is
 * known whether to record, and loses what it buffers when the browser crashes.
 */
export interface Recording {
  /** Resolves when the first tab is being recorded; the first tool call waits for it. Never rejects. */
  readonly ready: Promise<void>;
  /** Runs work of which no frame is kept; the one before stands still meanwhile. */
  withoutRecording<T>(work: () => Promise<T>): Promise<T>;
  /** Ends every file. Never rejects. */
  stop(): Promise<void>;
}

export const NO_RECORDING: Recording = {
  ready: Promise.resolve(),
  withoutRecording: work => work(),
  stop: async () => undefined,
};

export interface RecordingOptions {
  readonly context: BrowserContext;
  readonly ffmpeg: string;
  readonly outputDir: string;
  readonly order: UploadOrder;
  /** A tab is not recorded (any more). */
  readonly onStopped: (details: { file: string; reason: string }) => void;
  /** Asked before a frame is kept. */
  readonly pictures: Pictures;
  readonly clock: Clock;
}

/** Smooth enough to follow what was done, at two thirds of the work of 25. */
const FRAMES_PER_SECOND = 15;
/** Chromium keeps this many frames in flight; holding an acknowledgement back is what slows it down. */
const IN_FLIGHT = 5;
const JPEG_QUALITY = 80;
const STILL_PICTURE_MS = 5_000;
/** Encoders at once: a page that opens popups without end must not fill the machine with them. */
const FILES_AT_ONCE_MAX = 8;

/** Starts recording. What the uploader needs is on disk before the first frame. */
export function startRecording(options: RecordingOptions): Recording {
  const { context, outputDir, order, onStopped, clock } = options;
  const tabs = new Map<Page, Promise<() => Promise<void>>>();
  let count = 0;
  let stopped = false;
  const mask = frameMask(clock);

  const record = (page: Page): Promise<() => Promise<void>> => {
    count += 1;
    const file = `tab-${String(count).padStart(3, '0')}.webm`;
    if (tabs.size >= FILES_AT_ONCE_MAX) {
      onStopped({ file, reason: `more than ${FILES_AT_ONCE_MAX} tabs are open; this one is not recorded` });
      return Promise.resolve(async () => undefined);
    }
    const started = recordTab(page, { ...options, mask, path: join(outputDir, file) }, reason =>
      onStopped({ file, reason }),
    );
    tabs.set(page, started);
    page.once('close', () => void end(page));
    return started;
  };

  const end = async (page: Page): Promise<void> => {
    const started = tabs.get(page);
    await (await started)?.();
    tabs.delete(page);
  };

  const onPage = (page: Page) => {
    if (!stopped) void record(page);
  };
  const ready = writeOrder(outputDir, order)
    .then(async () => {
      if (stopped) return;
      context.on('page', onPage);
      await Promise.all(context.pages().map(record));
    })
    .catch((error: unknown) => onStopped({ file: UPLOAD_ORDER_FILE, reason: String(error) }));
  return {
    ready,
    withoutRecording: mask.during,
    async stop() {
      stopped = true;
      await ready;
      context.off('page', onPage);
      await Promise.all([...tabs.keys()].map(end));
    },
  };
}

/**
 * Records one tab; the returned function ends the file, and resolves when it has ended, for all who call it. Never
 * rejects.
 */
async function recordTab(
  page: Page,
  { ffmpeg, path, mask, pictures, clock }: RecordingOptions & { path: string; mask: FrameMask },
  onFailed: (reason: string) => void,
): Promise<() => Promise<void>> {
  const video = videoFile({ ffmpeg, path, size: VIEWPORT });
  const frames = frameWriter(video.frame, mask, clock);
  const pace = framePace(clock);
  const guarded = guardedFrames({ page, pictures, show: frames.add, shoot: () => still(page), clock });
  let ending: Promise<void> | undefined;
  void video.failed.then(reason => {
    if (ending !== undefined) return;
    onFailed(reason);
    void finish();
  });

  function finish(): Promise<void> {
    ending ??= endFile();
    return ending;
  }

  async function endFile(): Promise<void> {
    guarded.end();
    frames.end();
    // A browser that hangs or is gone does not answer; the file does not wait for it.
    void page.screencast.stop().catch(() => undefined);
    await video.close();
  }

  await page.screencast
    .start({
      size: VIEWPORT,
      quality: JPEG_QUALITY,
      onFrame: async ({ data }) => {
        if (ending !== undefined) return;
        if (pictures.isGuarding()) guarded.add(data);
        else frames.add(data);
        await pace();
      },
    })
    .catch((error: unknown) => {
      if (!page.isClosed()) onFailed(error instanceof Error ? error.message : String(error));
    });
  return finish;
}

/** A picture as the screencast would send it. */
const still = (page: Page): Promise<Buffer> =>
  page.screenshot({ type: 'jpeg', quality: JPEG_QUALITY, scale: 'css', caret: 'initial', timeout: STILL_PICTURE_MS });

/** Resolves when Chromium may send another frame: its rate is bounded by holding acknowledgements back. */
function framePace(clock: Clock): () => Promise<void> {
  const never = new AbortController().signal;
  let nextAckMs = 0;
  return async () => {
    const now = clock.nowMs();
    nextAckMs = Math.max(now, nextAckMs + 1_000 / FRAMES_PER_SECOND);
    const waitMs = Math.min(nextAckMs - now, (IN_FLIGHT * 1_000) / FRAMES_PER_SECOND);
    if (waitMs > 1) await clock.sleep(waitMs, never);
  };
}

/** Atomic and for its owner only: it holds the artifact token. */
async function writeOrder(outputDir: string, order: UploadOrder): Promise<void> {
  await mkdir(outputDir, { recursive: true });
  const path = join(outputDir, UPLOAD_ORDER_FILE);
  const file = await open(`${path}.tmp`, 'w', 0o600);
  try {
    await file.writeFile(JSON.stringify(order));
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(`${path}.tmp`, path);
}
