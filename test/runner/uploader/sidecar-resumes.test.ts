import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { PART_BYTES } from '../../../runner/uploader/s3-store.ts';
import { STATE_FILE } from '../../../runner/uploader/state.ts';
import { eventually } from '../../eventually.ts';
import {
  fullParts,
  growing,
  lease,
  leaseEachTest,
  leave,
  partsSeen,
  recorded,
  storedRow,
  TAB,
  tab,
  unfinished,
  w,
} from './sidecar-lease.ts';

// Uploads that go on where they were, or begin again.

leaseEachTest();

test.each(['PutObject', 'CompleteMultipartUpload'])('a %s whose answer was lost is known for its own', async action => {
  let lost = 0;
  w.front.fate = asked => (asked.action === action && lost++ === 0 ? 'deaf' : 'pass');
  const uploader = await lease.upload();
  lease.writeOrder();
  let local: () => { bytes: number; sha256: string };
  if (action === 'PutObject') {
    leave();
    local = lease.keep(TAB);
  } else {
    const encoder = await growing(uploader, 1);
    await encoder.end();
    local = lease.keep(TAB);
  }
  expect(await uploader.end()).toBe(0);
  expect(lost).toBeGreaterThan(1);
  expect(await lease.object(TAB)).toEqual(local());
  expect(await lease.artifacts()).toMatchObject([{ ...storedRow, bytes: local().bytes }]);
  expect(await unfinished()).toEqual([]);
});

test('a restarted sidecar goes on with the same upload and sends no part twice', async () => {
  const first = await lease.upload();
  lease.writeOrder();
  const encoder = await growing(first, 2);
  await first.kill();
  expect(statSync(join(lease.outputDir, STATE_FILE)).mode & 0o777).toBe(0o600);
  const before = partsSeen();
  const second = await lease.upload();
  encoder.resume();
  await eventually('another full part', () => fullParts() > before.length + 1, 60_000);
  encoder.pause();
  await eventually('another part is at the store', () => recorded() > before.length, 60_000);
  await encoder.kill();
  const local = lease.keep(TAB);
  expect(await second.end()).toBe(0);
  expect(await lease.object(TAB)).toEqual(local());
  expect(w.front.actions().filter(action => action === 'CreateMultipartUpload')).toHaveLength(1);
  expect(new Set(partsSeen()).size).toBe(partsSeen().length);
  expect(lease.files()).toEqual([]);
});

test('a sidecar that finds its upload aborted starts over', async () => {
  const uploader = await lease.upload();
  lease.writeOrder();
  const encoder = await growing(uploader, 1);
  const aborted = w.front.asked.find(({ action }) => action === 'UploadPart')?.query.get('uploadId');
  w.front.fate = ({ query }) => (query.get('uploadId') === aborted ? 'unknown' : 'pass');
  await encoder.end();
  const local = lease.keep(TAB);
  expect(await uploader.end()).toBe(0);
  expect(w.front.actions().filter(action => action === 'CreateMultipartUpload')).toHaveLength(2);
  expect(await lease.object(TAB)).toEqual(local());
  expect(await lease.artifacts()).toMatchObject([storedRow]);
});

test('a part whose bytes changed after it was sent is sent again', async () => {
  const uploader = await lease.upload();
  lease.writeOrder();
  const encoder = await growing(uploader, 1);
  await encoder.kill();
  const whole = readFileSync(tab());
  whole.fill(7, PART_BYTES + 1000, PART_BYTES + 2000);
  writeFileSync(tab(), whole);
  const local = lease.keep(TAB);
  expect(await uploader.end()).toBe(0);
  expect(await lease.object(TAB)).toEqual(local());
});
