import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { OmicronError } from '../../../contract/problem.ts';
import { type ArtifactReport, UPLOAD_ORDER_FILE, type UploadOrder } from '../../../contract/reports.ts';
import { folderRecordingStore } from '../../../runner/uploader/folder-store.ts';
import { STATE_FILE } from '../../../runner/uploader/state.ts';
import { uploadRecordings } from '../../../runner/uploader/upload.ts';
import { steppedClock } from '../../fakes/clock.ts';

let folder: string;
let outputDir: string;
let reports: ArtifactReport[];
const order: UploadOrder = {
  session_id: randomUUID(),
  epoch: 1,
  runner_id: randomUUID(),
  record_video: true,
  artifacts_prefix: 'pw-videos/test/s/1-r/',
  artifact_token: 'token',
};
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'omicron-test-upload-'));
  outputDir = join(folder, 'output');
  mkdirSync(outputDir);
  reports = [];
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const old = new Date(Date.now() - 60_000);
const leave = (name: string, content: Buffer | string) => {
  writeFileSync(join(outputDir, name), content);
  utimesSync(join(outputDir, name), old, old);
};
const webm = (): Buffer => {
  const path = join(folder, 'sample.webm');
  const source = 'color=c=blue:s=64x64:d=0.2';
  execFileSync('ffmpeg', ['-v', 'error', '-f', 'lavfi', '-i', source, '-c:v', 'libvpx', '-y', path]);
  return readFileSync(path);
};
const store = () => folderRecordingStore(pathToFileURL(`${join(folder, 'store')}/`));
/** A run over the folder of a dead runner, which is final from the start; waits pass at once. */
const run = (overrides: Partial<Parameters<typeof uploadRecordings>[0]> = {}) =>
  uploadRecordings({
    outputDir,
    runnerId: undefined,
    storeFor: async () => store(),
    reporter: async (_token, report) => {
      reports.push(report);
    },
    final: AbortSignal.abort(),
    graceMs: 10_000,
    afterGrace: 'keep',
    clock: steppedClock(),
    log: pino({ level: 'silent' }),
    ...overrides,
  });
/** A clock and a way to fail after which the grace is over. */
const outOfTime = () => {
  const clock = steppedClock();
  const fail = (error: Error) => {
    clock.advance(10_000);
    return Promise.reject(error);
  };
  return { clock, fail };
};

test('stores each file, reports it, deletes it, and the order last', async () => {
  leave(UPLOAD_ORDER_FILE, JSON.stringify(order));
  leave('tab-001.webm', webm());
  leave('tab-002.webm', webm());
  expect(await run()).toEqual({ stored: 2, lost: 0, left: 0 });
  expect(reports.map(({ state, name }) => [state, name])).toEqual([
    ['stored', 'tab-001.webm'],
    ['stored', 'tab-002.webm'],
  ]);
  expect(readdirSync(outputDir)).toEqual([]);
  expect(readdirSync(join(folder, 'store/pw-videos/test/s/1-r'))).toEqual(['tab-001.webm', 'tab-002.webm']);
  expect(await run()).toEqual({ stored: 0, lost: 0, left: 0 });
});

test('a file that is no recording is a recorded loss with its reason', async () => {
  leave(UPLOAD_ORDER_FILE, JSON.stringify(order));
  leave('tab-001.webm', '');
  leave('tab-002.webm', 'not a video');
  leave('tab-003.webm', webm().subarray(0, 40));
  expect(await run()).toEqual({ stored: 0, lost: 3, left: 0 });
  expect(reports.map(report => report.state === 'lost' && report.reason)).toEqual([
    'the file is empty: the encoder ended before its first picture',
    'the file is not webm',
    'the file holds no picture',
  ]);
  expect(readdirSync(outputDir)).toEqual([]);
});

test('a runner that should have recorded and left nothing is a recorded loss', async () => {
  leave(UPLOAD_ORDER_FILE, JSON.stringify(order));
  expect(await run()).toEqual({ stored: 0, lost: 1, left: 0 });
  expect(reports[0]).toMatchObject({ state: 'lost', name: 'recording' });
});

test('a controller and a store that fail for a moment are tried again, and nothing is deleted before', async () => {
  leave(UPLOAD_ORDER_FILE, JSON.stringify(order));
  leave('tab-001.webm', webm());
  const clock = steppedClock();
  let tries = 0;
  const result = await run({
    clock,
    storeFor: async () => ({
      ...store(),
      finish: (file, bytes) => {
        expect(existsSync(file.path)).toBe(true);
        tries += 1;
        return tries < 3 ? Promise.reject(new Error('the disk is full')) : store().finish(file, bytes);
      },
    }),
    reporter: async (_token, report) => {
      expect(readdirSync(outputDir)).toContain('tab-001.webm');
      reports.push(report);
      if (reports.length < 3) throw new OmicronError('store_unavailable', 'down');
    },
  });
  expect(result).toEqual({ stored: 1, lost: 0, left: 0 });
  expect([tries, reports.length]).toEqual([3, 3]);
  expect(clock.waitedMs).toEqual([400, 800, 1_600, 3_200]);
});

test('past its deadline what was not reported stays, and the next run sends it', async () => {
  leave(UPLOAD_ORDER_FILE, JSON.stringify(order));
  leave('tab-001.webm', webm());
  const { clock, fail } = outOfTime();
  const reporter = () => fail(new OmicronError('store_unavailable', 'down'));
  expect(await run({ reporter, clock })).toEqual({ stored: 0, lost: 0, left: 1 });
  expect(readdirSync(outputDir).sort()).toEqual(['tab-001.webm', STATE_FILE, UPLOAD_ORDER_FILE]);
  expect(await run()).toEqual({ stored: 1, lost: 0, left: 0 });
  expect(readdirSync(outputDir)).toEqual([]);
});

test('a report that the deadline cuts off is not taken for a refusal', async () => {
  leave(UPLOAD_ORDER_FILE, JSON.stringify(order));
  leave('tab-001.webm', webm());
  const clock = steppedClock();
  const reporter = async (_token: string, _report: ArtifactReport, signal: AbortSignal) => {
    const aborted = new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    clock.advance(10_000);
    await aborted;
  };
  expect(await run({ reporter, clock })).toEqual({ stored: 0, lost: 0, left: 1 });
  expect(readdirSync(outputDir)).toContain('tab-001.webm');
});

test('a refused report (the session was deleted) does not keep the file', async () => {
  leave(UPLOAD_ORDER_FILE, JSON.stringify(order));
  leave('tab-001.webm', webm());
  const reporter = () => Promise.reject(new OmicronError('session_not_found', 'gone'));
  expect(await run({ reporter })).toEqual({ stored: 1, lost: 0, left: 0 });
  expect(readdirSync(outputDir)).toEqual([]);
});

test('if the folder goes with its runner, files not sent by the deadline are a loss with its cause', async () => {
  leave(UPLOAD_ORDER_FILE, JSON.stringify(order));
  leave('tab-001.webm', webm());
  leave('tab-002.webm', webm());
  const { clock, fail } = outOfTime();
  const storeFor = async () => ({ ...store(), finish: () => fail(new Error('the disk is full')) });
  const result = await run({ storeFor, clock, afterGrace: 'lose' });
  expect(result).toEqual({ stored: 0, lost: 2, left: 0 });
  const start = "the recording could not be sent within 10 s of the browser's end";
  expect(reports).toEqual([
    { state: 'lost', name: 'tab-001.webm', reason: `${start} (Error: the disk is full)` },
    { state: 'lost', name: 'tab-002.webm', reason: `${start} (not attempted before the deadline)` },
  ]);
  expect(readdirSync(outputDir)).toEqual(['tab-001.webm', 'tab-002.webm']);
});

test('a prefix that leads out of the store is refused', async () => {
  leave(UPLOAD_ORDER_FILE, JSON.stringify({ ...order, artifacts_prefix: '../../' }));
  leave('tab-001.webm', webm());
  const { clock, fail } = outOfTime();
  const storeFor = async () => ({
    ...store(),
    finish: (...args: Parameters<ReturnType<typeof store>['finish']>) =>
      store()
        .finish(...args)
        .catch(fail),
  });
  expect(await run({ storeFor, clock })).toEqual({ stored: 0, lost: 0, left: 1 });
  expect(existsSync(join(folder, '..', 'tab-001.webm'))).toBe(false);
});

test('nothing to send is no error', async () => {
  expect(await run()).toEqual({ stored: 0, lost: 0, left: 0 });
});
