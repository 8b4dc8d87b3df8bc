import { mkdir, open, rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { BrowserContext, Page } from 'playwright-core';
import { UPLOAD_ORDER_FILE, type UploadOrder } from '../../contract/reports.ts';
import { VIEWPORT } from '../browser/browser.ts';
import { type VideoFile, videoFile } from './ffmpeg.ts';

/**
 * Video of a lease: one file per tab, in the output folder. Pictures come from the browser's screencast and are encoded
 * by a process of ours; Playwright's own recordVideo would have to start with the context, before anyone knows whether
 * to record, and loses what it buffers when the browser crashes.
 */
export interface Recording {
  /** Resolves when the first tab is being filmed; the first tool call waits for it. Never rejects. */
  readonly ready: Promise<void>;
  /** Runs work of which no picture is kept; the one before stands still meanwhile. */
  unseen<T>(work: () => Promise<T>): Promise<T>;
  /** Ends every file. Never rejects. */
  stop(): Promise<void>;
}

export const NO_RECORDING: Recording = {
  ready: Promise.resolve(),
  unseen: work => work(),
  stop: async () => undefined,
};

export interface RecordingOptions {
  readonly context: BrowserContext;
  readonly ffmpeg: string;
  readonly outputDir: string;
  readonly order: UploadOrder;
  /** A tab is not recorded (any more). */
  readonly onStopped: (details: { file: string; reason: string }) => void;
}

/** Smooth enough to follow what was done, at two thirds of the work of 25. */
const FRAMES_PER_SECOND = 15;
/** Chromium keeps so many pictures in flight; holding an acknowledgement back is what slows it down. */
const IN_FLIGHT = 5;
const JPEG_QUALITY = 80;
/** A still page sends no pictures; its last one is repeated so that the video lasts as long as the page did. */
const STILL_MS = 1_000;
/** Encoders at once: a page that opens popups without end must not fill the machine with them. */
const FILES_AT_ONCE_MAX = 8;

/** Starts recording. What the uploader needs is on disk before the first picture. */
export function startRecording(options: RecordingOptions): Recording {
  const { context, outputDir, order, onStopped } = options;
  const tabs = new Map<Page, Promise<() => Promise<void>>>();
  let count = 0;
  let stopped = false;
  const veil: Veil = { works: 0, untilMs: 0 };

  const film = (page: Page): Promise<() => Promise<void>> => {
    count += 1;
    const file = `tab-${String(count).padStart(3, '0')}.webm`;
    if (tabs.size >= FILES_AT_ONCE_MAX) {
      onStopped({ file, reason: `more than ${FILES_AT_ONCE_MAX} tabs are open; this one is not recorded` });
      return Promise.resolve(async () => undefined);
    }
    const started = filmTab(page, { ...options, veil, path: join(outputDir, file) }, reason =>
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
    if (!stopped) void film(page);
  };
  const ready = writeOrder(outputDir, order)
    .then(async () => {
      if (stopped) return;
      context.on('page', onPage);
      await Promise.all(context.pages().map(film));
    })
    .catch((error: unknown) => onStopped({ file: UPLOAD_ORDER_FILE, reason: String(error) }));
  return {
    ready,
    async unseen(work) {
      veil.works += 1;
      try {
        return await work();
      } finally {
        veil.works -= 1;
        veil.untilMs = performance.now() + VEIL_MS;
      }
    },
    async stop() {
      stopped = true;
      await ready;
      context.off('page', onPage);
      await Promise.all([...tabs.keys()].map(end));
    },
  };
}

/** Pieces of work that no picture may show, and how long pictures of the last of them may still be on their way. */
interface Veil {
  works: number;
  untilMs: number;
}
const VEIL_MS = 250;

const isUnseen = ({ works, untilMs }: Veil): boolean => works > 0 || performance.now() < untilMs;

/** Films one tab; the returned function ends the file, and resolves when it has ended, for all who call it. Never rejects. */
async function filmTab(
  page: Page,
  { ffmpeg, path, veil }: { ffmpeg: string; path: string; veil: Veil },
  onFailed: (reason: string) => void,
): Promise<() => Promise<void>> {
  const video: VideoFile = videoFile({ ffmpeg, path, size: VIEWPORT });
  let last: Buffer | undefined;
  /** Came under the veil; if nothing follows it, it is what the page looks like now. */
  let held: Buffer | undefined;
  let lastMs = 0;
  let nextAckMs = 0;
  let ending: Promise<void> | undefined;
  const show = (picture: Buffer) => {
    last = picture;
    held = undefined;
    lastMs = performance.now();
    video.frame(picture);
  };
  const still = setInterval(() => {
    if (held !== undefined && !isUnseen(veil)) show(held);
    else if (last !== undefined && performance.now() - lastMs >= STILL_MS) show(last);
  }, STILL_MS / 2);
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
    clearInterval(still);
    if (held !== undefined && !isUnseen(veil)) last = held;
    if (last !== undefined) video.frame(last);
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
        if (isUnseen(veil)) held = data;
        else show(data);
        const now = performance.now();
        nextAckMs = Math.max(now, nextAckMs + 1_000 / FRAMES_PER_SECOND);
        const waitMs = nextAckMs - now;
        if (waitMs > 1)
          await new Promise(resolve => setTimeout(resolve, Math.min(waitMs, (IN_FLIGHT * 1_000) / FRAMES_PER_SECOND)));
      },
    })
    .catch((error: unknown) => {
      if (!page.isClosed()) onFailed(error instanceof Error ? error.message : String(error));
    });
  return finish;
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
