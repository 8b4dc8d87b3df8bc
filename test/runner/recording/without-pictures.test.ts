import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { launchBrowser, type RunnerBrowser } from '../../../runner/browser/browser.ts';
import { browserPath, commandPath } from '../../../runner/browser/browser-path.ts';
import { createTempDir, type TempDir } from '../../../runner/browser/temp-dir.ts';
import { captureTabs } from '../../../runner/capture/captures.ts';
import { uploadOrderWriter } from '../../../runner/lease/upload-order.ts';
import { startRecording } from '../../../runner/recording/recording.ts';
import { guardPictures } from '../../../runner/secrecy/pictures.ts';
import { realClock } from '../../../time/clock.ts';
import { eventually } from '../../eventually.ts';

let temp: TempDir;
let browser: RunnerBrowser;
const searchPath = process.env.PATH ?? '';
beforeAll(async () => {
  temp = createTempDir(randomUUID());
  browser = await launchBrowser({
    executable: browserPath(process.env.OMICRON_CHROMIUM, searchPath, () => chromium.executablePath()),
    sandbox: true,
    tempDir: temp.path,
    egressUrl: undefined,
    searchPath,
  });
});
afterAll(async () => {
  await browser.close();
  temp.remove();
});

test('the recording shows nothing of what is done without pictures, and goes on after it', {
  timeout: 90_000,
}, async () => {
  const [page] = browser.context.pages();
  if (page === undefined) throw new Error('no page');
  const show = (color: string, ms: number) =>
    page.evaluate(`new Promise(done => { document.body.style.background = '${color}'; setTimeout(done, ${ms}); })`);
  await page.goto('data:text/html,<body style="background:blue">');
  const outputDir = join(temp.path, 'output');
  const id = randomUUID();
  const { context } = browser;
  const captures = captureTabs({ context, pictures: guardPictures(context), clock: realClock });
  const recording = startRecording({
    context,
    ffmpeg: commandPath('ffmpeg', searchPath) ?? 'ffmpeg',
    outputDir,
    clock: realClock,
    captures,
    writeOrder: uploadOrderWriter(outputDir, {
      ...{ session_id: id, epoch: 1, runner_id: id, record_video: true },
      ...{ artifacts_prefix: '', artifact_token: '' },
    }),
    onStarted: () => {},
    onStopped: details => {
      throw new Error(JSON.stringify(details));
    },
  });
  await recording.ready;
  await show('blue', 700);
  await captures.withoutPictures(async () => {
    await show('red', 700);
    await show('blue', 700);
  });
  await show('lime', 0);
  const video = join(outputDir, 'tab-001.webm');
  await eventually('the page after it to be recorded', () => dominantColors(video).has('lime'), 60_000);
  await recording.stop();
  expect([...dominantColors(video)].sort()).toEqual(['blue', 'lime']);
});

/** Which of the three colors the pictures of a recording show, finished or not. */
function dominantColors(video: string): Set<string | undefined> {
  const one = ['-vf', 'scale=1:1', '-f', 'rawvideo', '-pix_fmt', 'rgb24', 'pipe:1'];
  const pixels = execFileSync('ffmpeg', ['-loglevel', 'error', '-i', video, ...one]);
  const colors = Array.from({ length: pixels.length / 3 }, (_, n) => [...pixels.subarray(n * 3, n * 3 + 3)]);
  return new Set(colors.map(color => ['red', 'lime', 'blue'][color.indexOf(Math.max(...color))]));
}
