import { join } from 'node:path';
import type { BrowserContext, Page } from 'playwright-core';
import { UPLOAD_ORDER_FILE } from '../../contract/reports.ts';
import type { Clock } from '../../http/clock.ts';
import { VIEWPORT } from '../browser/browser.ts';
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
}

/** Encoders at once: a page that opens popups without end must not fill the machine with them. */
const FILES_AT_ONCE_MAX = 8;

/** Starts recording. What the uploader needs is on disk before the first frame. */
export function startRecording(options: RecordingOptions): Recording {
  const { context, outputDir, onStarted, onStopped } = options;
  const tabs = new Map<Page, Promise<() => Promise<void>>>();
  let count = 0;
  let stopped = false;

  const record = (page: Page): Promise<() => Promise<void>> => {
    count += 1;
    const file = `tab-${String(count).padStart(3, '0')}.webm`;
    if (tabs.size >= FILES_AT_ONCE_MAX) {
      onStopped({ file, reason: `more than ${FILES_AT_ONCE_MAX} tabs are open; this one is not recorded` });
      return Promise.resolve(async () => undefined);
    }
    const started = recordTab(page, {
      ...{ ...options, path: join(outputDir, file) },
      onFirst: () => onStarted({ file }),
      onFailed: reason => onStopped({ file, reason }),
    });
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
  const ready = options
    .writeOrder()
    .then(async () => {
      if (stopped) return;
      context.on('page', onPage);
      await Promise.all(context.pages().map(record));
    })
    .catch((error: unknown) => onStopped({ file: UPLOAD_ORDER_FILE, reason: String(error) }));
  return {
    ready,
    async stop() {
      stopped = true;
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
