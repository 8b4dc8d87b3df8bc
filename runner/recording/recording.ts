import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { BrowserContext, Page } from 'playwright-core';
import { UPLOAD_ORDER_FILE } from '../../contract/reports.ts';
import type { Clock } from '../../time/clock.ts';
import { VIEWPORT } from '../browser/context-options.ts';
import type { Captures } from '../capture/captures.ts';
import type { Picture } from '../capture/picture.ts';
import { videoFile } from './ffmpeg.ts';
import { frameWriter } from './still-page.ts';

/**
 * Video of a lease: one file per tab, in the output folder. Frames come from the captures of its tabs and are encoded
 * by a process of this runner's; Playwright's own recordVideo would have to start with the context, before it is
 * known whether to record, and loses what it buffers when the browser crashes.
 */
export interface Recording {
  /** Resolves when the first tab is being recorded; the first tool call waits for it. Never rejects. */
  readonly ready: Promise<void>;
  /** Ends every file. Never rejects. */
  stop(): Promise<void>;
}

export const NO_RECORDING: Recording = {
  ready: Promise.resolve(),
  stop: async () => undefined,
};

export interface RecordingOptions {
  readonly context: BrowserContext;
  readonly ffmpeg: string;
  readonly outputDir: string;
  /** Writes what the uploader needs to disk. */
  readonly writeOrder: () => Promise<void>;
  /** The first picture of a tab is written: its file begins. */
  readonly onStarted: (details: { file: string }) => void;
  /** A tab is not recorded (any more). */
  readonly onStopped: (details: { file: string; reason: string }) => void;
  readonly captures: Captures;
  readonly clock: Clock;
  /** Bytes that all files of the lease may have together. */
  readonly bytesMax?: number;
}

/**
 * Eight hours at 1 Mbit/s are 3.6 GB; a page of noise makes 30 Mbit/s. A pod whose output outgrows its volume is evicted within a second, and
 * all that is not uploaded yet is lost.
 */
export const RECORDING_BYTES_MAX = 4 * 1024 ** 3;
const LOOK_MS = 1_000;

/** Encoders at once: a page that opens popups without end must not fill the machine with them. */
const FILES_AT_ONCE_MAX = 8;

/** Starts recording. The uploader's order is on disk before the first frame. */
export function startRecording(options: RecordingOptions): Recording {
  const { context, outputDir, onStarted, onStopped, clock, bytesMax = RECORDING_BYTES_MAX } = options;
  const tabs = new Map<Page, { file: string; started: Promise<() => Promise<void>> }>();
  /** Size of every file; the uploader removes those that are stored. */
  const bytes = new Map<string, number>();
  const stopping = new AbortController();
  let count = 0;
  let stopped = false;
  let full = false;
  const fullReason = `the videos of this lease have ${Math.floor(bytesMax / 1024 ** 2)} MiB; no more is recorded`;

  const whyNot = (): string | undefined => {
    if (full) return fullReason;
    return tabs.size < FILES_AT_ONCE_MAX
      ? undefined
      : `more than ${FILES_AT_ONCE_MAX} tabs are open; this one is not recorded`;
  };

  const record = (page: Page): Promise<() => Promise<void>> => {
    count += 1;
    const file = `tab-${String(count).padStart(3, '0')}.webm`;
    const refused = whyNot();
    if (refused !== undefined) {
      onStopped({ file, reason: refused });
      return Promise.resolve(async () => undefined);
    }
    const started = recordTab(page, {
      ...options,
      path: join(outputDir, file),
      onFirst: () => onStarted({ file }),
      onFailed: reason => onStopped({ file, reason }),
    });
    tabs.set(page, { file, started });
    page.once('close', () => void end(page));
    return started;
  };

  const end = async (page: Page): Promise<void> => {
    const tab = tabs.get(page);
    await (await tab?.started)?.();
    tabs.delete(page);
  };

  const measure = async ({ file }: { file: string }): Promise<void> => {
    const found = await stat(join(outputDir, file)).catch(() => undefined);
    if (found !== undefined) bytes.set(file, found.size);
  };

  const stopWhenFull = async (): Promise<void> => {
    while (!full) {
      await clock.sleep(LOOK_MS, stopping.signal, true);
      await Promise.all([...tabs.values()].map(measure));
      full = [...bytes.values()].reduce((sum, size) => sum + size, 0) > bytesMax;
    }
    for (const [page, { file }] of tabs) {
      onStopped({ file, reason: fullReason });
      void end(page);
    }
  };

  const onPage = (page: Page) => {
    if (!stopped) void record(page);
  };
  const ready = options
    .writeOrder()
    .then(async () => {
      if (stopped) return;
      context.on('page', onPage);
      await Promise.all(context.pages().map(record));
      void stopWhenFull().catch(() => undefined); // it was stopped before
    })
    .catch((error: unknown) => onStopped({ file: UPLOAD_ORDER_FILE, reason: String(error) }));
  return {
    ready,
    async stop() {
      stopped = true;
      stopping.abort();
      await ready;
      context.off('page', onPage);
      await Promise.all([...tabs.keys()].map(end));
    },
  };
}

interface TabRecordingOptions extends Pick<RecordingOptions, 'ffmpeg' | 'captures' | 'clock'> {
  readonly path: string;
  readonly onFirst: () => void;
  readonly onFailed: (reason: string) => void;
}

/**
 * Records one tab; the returned function ends the file, and resolves when it has ended, for all who call it. Never
 * rejects.
 */
async function recordTab(
  page: Page,
  { ffmpeg, path, captures, clock, onFirst, onFailed }: TabRecordingOptions,
): Promise<() => Promise<void>> {
  const video = videoFile({ ffmpeg, path, size: VIEWPORT });
  const frames = frameWriter(video.frame, clock);
  let ending: Promise<void> | undefined;
  let unwatch = () => {};
  let isFirst = true;
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
    unwatch();
    frames.end();
    await video.close();
  }

  try {
    const record = ({ jpeg }: Picture) => {
      if (isFirst) onFirst();
      isFirst = false;
      frames.add(jpeg);
    };
    unwatch = await captures.watch(page, record, 'sparing');
    if (ending !== undefined) unwatch(); // the encoder failed meanwhile
  } catch (error) {
    if (!page.isClosed()) onFailed(error instanceof Error ? error.message : String(error));
  }
  return finish;
}
