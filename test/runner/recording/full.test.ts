import { EventEmitter } from 'node:events';
import { chmod, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BrowserContext } from 'playwright-core';
import { expect, onTestFinished, test } from 'vitest';
import type { Captures } from '../../../runner/capture/captures.ts';
import { startRecording } from '../../../runner/recording/recording.ts';
import { steppedClock } from '../../fakes/clock.ts';

const ENCODED_BYTES = 300_000;

/** A recording of at most a megabyte, of tabs whose encoders write 300 kB each. */
async function recorded() {
  const outputDir = await mkdtemp(join(tmpdir(), 'omicron-test-recording-'));
  onTestFinished(() => rm(outputDir, { recursive: true }));
  const ffmpeg = join(outputDir, 'ffmpeg');
  await writeFile(
    ffmpeg,
    `#!/bin/sh\nfor path; do :; done\nhead -c ${ENCODED_BYTES} /dev/zero > "$path"\ncat > /dev/null\n`,
  );
  await chmod(ffmpeg, 0o755);
  const clock = steppedClock();
  const ended: { file: string; reason: string }[] = [];
  const context = Object.assign(new EventEmitter(), { pages: () => [] });
  const recording = startRecording({
    context: context as unknown as BrowserContext, // the rest is not called
    captures: { watch: async () => () => {} } as unknown as Captures, // the rest is not called
    ...{ ffmpeg, outputDir, clock, bytesMax: 1024 ** 2 },
    writeOrder: async () => {},
    onStarted: () => {},
    onStopped: details => ended.push(details),
  });
  await recording.ready;
  const file = (number: number) => join(outputDir, `tab-00${number}.webm`);
  /** Opens a tab; resolves when its encoder has written. */
  async function open(number: number) {
    const page = Object.assign(new EventEmitter(), { isClosed: () => false });
    context.emit('page', page);
    await expect
      .poll(() =>
        stat(file(number)).then(
          it => it.size,
          () => 0,
        ),
      )
      .toBe(ENCODED_BYTES);
    return page;
  }
  /** The next look at the files is over. */
  const look = async () => {
    await expect.poll(() => clock.idleMs()).toContain(1_000);
    clock.advance(1_000);
  };
  return { context, recording, ended, clock, file, open, look };
}

test('a lease whose videos have all that they may is recorded no further, those that the uploader has removed included', async () => {
  const { context, recording, ended, clock, file, open, look } = await recorded();
  const first = await open(1);
  await open(2);
  await open(3);
  await look();
  first.emit('close');
  await rm(file(1)); // stored
  await look();
  await expect.poll(() => clock.idleMs()).toContain(1_000);
  expect(ended).toEqual([]);
  await open(4);
  await look();
  const reason = 'the videos of this lease have 1 MiB; no more is recorded';
  await expect.poll(() => ended).toHaveLength(3);
  context.emit('page', new EventEmitter());
  expect(ended).toEqual([2, 3, 4, 5].map(number => ({ file: `tab-00${number}.webm`, reason })));
  await recording.stop();
  await expect(stat(file(4))).resolves.toMatchObject({ size: ENCODED_BYTES }); // what was recorded stays
});
