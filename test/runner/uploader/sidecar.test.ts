import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ListMultipartUploadsCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { callPicture, LAST_PAGE, PAGE_FOLDER } from '../../../contract/page-names.ts';
import { UPLOAD_ORDER_FILE } from '../../../contract/reports.ts';
import { PART_BYTES } from '../../../runner/uploader/s3-store.ts';
import { STATE_FILE } from '../../../runner/uploader/state.ts';
import { eventually } from '../../eventually.ts';
import { cuttableWire } from '../../fakes/cut.ts';
import type { Asked } from './front.ts';
import { BUCKET, clip, encode, type LeasedRunner, type UploadWorld, uploadWorld } from './world.ts';

let w: UploadWorld;
let lease: LeasedRunner;
let folder: string;
let sample: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'omicron-test-clip-'));
  sample = clip(folder);
  w = await uploadWorld();
  return async () => {
    await w[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  };
});
beforeEach(async () => {
  w.front.fate = () => 'pass';
  w.front.asked.splice(0);
  lease = await w.lease();
});
afterEach(() => lease[Symbol.asyncDispose]());

const TAB = 'tab-001.webm';
const tab = () => join(lease.outputDir, TAB);
const partsSeen = () => w.front.asked.filter(({ action }) => action === 'UploadPart').map(numberOf);
const numberOf = ({ query }: Asked) => Number(query.get('partNumber'));
const stores = (action: string) => ['PutObject', 'CompleteMultipartUpload'].includes(action);
/** A file as the runner leaves it. */
const leave = (name = TAB) => writeFileSync(join(lease.outputDir, name), readFileSync(sample));
const storedRow = { state: 'stored', reason: null };

/** Grows until the store has parts, then stands still; the caller ends the encoder. */
async function growing(uploader: { output(): string }, parts: number) {
  const encoder = encode(sample, tab(), 12);
  await eventually('the file has that many full parts', () => existsSync(tab()) && fullParts() > parts, 60_000);
  encoder.pause();
  await eventually(`they are at the store: ${uploader.output()}`, () => recorded() === fullParts() - 1, 60_000);
  return encoder;
}
const fullParts = () => Math.floor(statSync(tab()).size / PART_BYTES);
/** Parts that the uploader knows to be at the store. */
const recorded = () => readFileSync(join(lease.outputDir, STATE_FILE), 'utf8').split('"number"').length - 1;

test('streams the recording while it grows, its first part last, and leaves nothing behind', async () => {
  const uploader = await lease.upload();
  lease.writeOrder();
  const encoder = await growing(uploader, 2);
  expect(partsSeen().slice(0, 2)).toEqual([2, 3]);
  expect(partsSeen()).not.toContain(1);
  const [, mostKb = 'unknown'] =
    /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${uploader.child.pid}/status`, 'utf8')) ?? [];
  console.info(`uploader: ${mostKb} kB`);
  expect(Number(mostKb)).toBeLessThan(256 * 1024); // its container's limit (manifests/environments.ts)
  const beforeEnd = readFileSync(tab()).subarray(0, 512);
  await encoder.end();
  const local = lease.keep(TAB);
  expect(readFileSync(tab()).subarray(0, 512).equals(beforeEnd)).toBe(false); // the encoder has patched its head
  expect(await uploader.end()).toBe(0);

  expect(await lease.object(TAB)).toEqual(local());
  expect(partsSeen().at(-1)).toBe(1);
  expect(w.front.actions()).toContain('AssumeRoleWithWebIdentity');
  const [complete] = w.front.asked.filter(({ action }) => stores(action));
  expect(complete).toMatchObject({ action: 'CompleteMultipartUpload', headers: { 'if-none-match': '*' } });
  for (const { headers } of w.front.asked) {
    expect(Object.keys(headers).filter(name => name.startsWith('x-amz-server-side-encryption'))).toEqual([]);
    expect(headers).not.toHaveProperty('proxy-authorization');
  }
  expect(await lease.artifacts()).toMatchObject([
    { ...storedRow, uri: `s3://${BUCKET}/${lease.order.artifacts_prefix}${TAB}`, bytes: local().bytes },
  ]);
  expect(lease.files()).toEqual([]);
  for (const secret of [lease.order.upload_credential, lease.order.artifact_token])
    expect(uploader.output()).not.toContain(secret);
});

test('a short recording is one object, sent after the lease has ended', async () => {
  const release = w.stack.machine.hold('upload');
  const uploader = await lease.upload();
  lease.writeOrder();
  leave();
  truncateSync(tab(), 100_000); // the encoder was killed: no last word in its head
  await w.stack.call('DELETE', lease.sessionPath);
  expect(await uploader.end()).toBe(0);
  release();
  expect(w.front.actions().filter(action => action !== 'AssumeRoleWithWebIdentity')).toEqual(['PutObject']);
  expect(w.front.asked.at(-1)?.headers).toMatchObject({ 'if-none-match': '*', 'content-type': 'video/webm' });
  expect((await lease.object(TAB)).bytes).toBe(100_000);
  expect(await lease.artifacts()).toEqual(expect.arrayContaining([expect.objectContaining(storedRow)]));
});

test('the file of a closed tab is sent while the session goes on', async () => {
  const uploader = await lease.upload();
  lease.writeOrder();
  leave();
  await eventually(`the tab is stored: ${uploader.output()}`, async () => (await lease.artifacts()).length === 1);
  await eventually('its file is gone', () => !lease.files().includes(TAB));
  expect(uploader.child.exitCode).toBeNull();
  leave('tab-002.webm');
  expect(await uploader.end()).toBe(0);
  expect((await lease.artifacts()).map(({ uri }) => uri?.split('/').at(-1))).toEqual([TAB, 'tab-002.webm']);
  expect(lease.files()).toEqual([]);
});

test('files of the session and pictures of calls are stored while it goes on, the last page at its end; none is a recording', async () => {
  const recordings = () =>
    w.stack.database.query("select * from omicron.tally_shards where metric = 'recordings' order by label, shard");
  const before = await recordings();
  const uploader = await lease.upload();
  lease.writeOrder({ record_video: false });
  const name = 'downloads/Übersicht 1.pdf';
  mkdirSync(join(lease.outputDir, 'downloads'));
  writeFileSync(join(lease.outputDir, 'downloads', '.being-written'), 'not yet');
  writeFileSync(join(lease.outputDir, name), '%PDF-1.4');
  await eventually(`the file is stored: ${uploader.output()}`, async () => (await lease.artifacts()).length === 1);
  expect(existsSync(join(lease.outputDir, name))).toBe(true);
  expect(w.front.asked.at(-1)?.headers).toMatchObject({ 'content-type': 'application/pdf', 'if-none-match': '*' });
  mkdirSync(join(lease.outputDir, PAGE_FOLDER));
  writeFileSync(join(lease.outputDir, LAST_PAGE.picture), 'not the last one');
  writeFileSync(join(lease.outputDir, callPicture(1)), 'picture');
  await eventually(`the picture is stored: ${uploader.output()}`, async () => (await lease.artifacts()).length === 2);
  await eventually('its file is gone', () => !existsSync(join(lease.outputDir, callPicture(1))));
  writeFileSync(join(lease.outputDir, LAST_PAGE.picture), 'last');
  expect(await uploader.end()).toBe(0);
  expect((await lease.object(name)).bytes).toBe(8);
  expect(await lease.artifacts()).toMatchObject([
    { kind: 'file', name, state: 'stored', uri: `s3://${BUCKET}/${lease.order.artifacts_prefix}${name}`, bytes: 8 },
    { kind: 'page', name: callPicture(1), state: 'stored', bytes: 7 },
    { kind: 'page', name: LAST_PAGE.picture, state: 'stored', bytes: 4 },
  ]);
  expect((await lease.artifacts())[1]?.uri).toMatch(/^s3:\/\/[^/]+\/pw-pages\/.*\/pages\/call-0001\.jpg$/);
  expect(await recordings()).toEqual(before);
});

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

test("another uploader's object stays as it is, and ours is a loss with that reason", async () => {
  const key = `${lease.order.artifacts_prefix}${TAB}`;
  await w.s3.send(new PutObjectCommand({ Bucket: BUCKET, Key: key, Body: 'first' }));
  const uploader = await lease.upload();
  lease.writeOrder();
  leave();
  expect(await uploader.end()).toBe(0);
  expect((await lease.object(TAB)).bytes).toBe(5);
  expect(await lease.artifacts()).toMatchObject([{ state: 'lost', reason: expect.stringContaining('another object') }]);
});

test('goes on where it was when STS and S3 come back', async () => {
  const seen = new Map<string, number>();
  const again = (name: string) => (seen.set(name, (seen.get(name) ?? 0) + 1).get(name) ?? 0) > 2;
  w.front.fate = ({ action }) => {
    if (action === 'AssumeRoleWithWebIdentity') return again(action) ? 'pass' : 'down';
    return again(action) ? 'pass' : 503;
  };
  const uploader = await lease.upload();
  lease.writeOrder();
  const encoder = await growing(uploader, 1);
  await encoder.end();
  const local = lease.keep(TAB);
  expect(await uploader.end()).toBe(0);
  expect([...seen.keys()].sort()).toEqual([
    'AssumeRoleWithWebIdentity',
    'CompleteMultipartUpload',
    'CreateMultipartUpload',
    'UploadPart',
  ]);
  expect(await lease.object(TAB)).toEqual(local());
  expect(await lease.artifacts()).toMatchObject([storedRow]);
});

test('keeps the report for a controller that is away, and deletes the file after it was received', async () => {
  await using wire = await cuttableWire('127.0.0.1', Number(new URL(w.stack.url).port));
  wire.cut();
  const uploader = await lease.upload({ OMICRON_CONTROLLER_URL: `http://127.0.0.1:${wire.port}` });
  lease.writeOrder();
  leave();
  const exited = uploader.end();
  await eventually('the object is there', () => w.front.actions().includes('PutObject'));
  await eventually('the report was tried', () => uploader.output().includes('The controller could not be reached'));
  expect(lease.files()).toContain(TAB);
  wire.restore();
  expect(await exited).toBe(0);
  expect(w.front.actions().filter(stores)).toEqual(['PutObject']);
  expect(await lease.artifacts()).toMatchObject([storedRow]);
  expect(lease.files()).toEqual([]);
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

test('a recording that cannot be sent in time is a loss with its reason, and the upload is given up', async () => {
  w.front.fate = ({ action, query }) =>
    action === 'CompleteMultipartUpload' || query.get('partNumber') === '1' ? 503 : 'pass';
  const uploader = await lease.upload({ OMICRON_UPLOAD_SECONDS: '5' });
  lease.writeOrder();
  const encoder = await growing(uploader, 1);
  await encoder.end();
  expect(await uploader.end()).toBe(0);
  const reason = expect.stringMatching(/could not be sent within 5 s of the browser's end \(.*503.*\)/i);
  expect(await lease.artifacts()).toMatchObject([{ state: 'lost', reason }]);
  expect(w.front.actions().at(-1)).toBe('AbortMultipartUpload');
  expect(await unfinished()).toEqual([]);
  expect(lease.files()).toEqual([TAB]); // goes with the pod; order and state, which hold credentials, are gone
});

test('a file that is no recording, and a lease without any picture, are losses too', async () => {
  const uploader = await lease.upload();
  lease.writeOrder();
  writeFileSync(tab(), 'not a video');
  expect(await uploader.end()).toBe(0);
  const empty = await w.lease();
  empty.writeOrder();
  expect(await (await empty.upload()).end()).toBe(0);
  const reasons = [...(await lease.artifacts()), ...(await empty.artifacts())].map(({ reason }) => reason);
  expect(reasons).toEqual(['the file is not webm', 'the runner ended before its first picture']);
  await empty[Symbol.asyncDispose]();
});

test('without an order it ends at once: nothing was recorded', async () => {
  const uploader = await lease.upload();
  expect(uploader.output()).toContain('waiting for an upload order');
  expect(await uploader.end()).toBe(0);
  expect(w.front.asked).toEqual([]);
});

test("an order for another runner's keys is refused, and no link leads out of the folder", async () => {
  const uploader = await lease.upload();
  lease.writeOrder({ artifacts_prefix: `pw-videos/local/${lease.order.session_id}/1-${crypto.randomUUID()}/` });
  leave();
  expect(await uploader.end()).not.toBe(0);
  expect(uploader.output()).toContain('the upload order is not for this runner');
  rmSync(join(lease.outputDir, UPLOAD_ORDER_FILE));
  rmSync(tab());
  symlinkSync(sample, tab());
  lease.writeOrder();
  expect(await (await lease.upload()).end()).toBe(0);
  expect(w.front.actions().filter(stores)).toEqual([]);
});

test('a wrong environment is an error that names the variable', async () => {
  const uploader = await lease.upload({ OMICRON_ARTIFACT_STORE: 'file:///tmp/x' });
  await eventually('it has ended', () => uploader.child.exitCode !== null);
  expect(uploader.child.exitCode).toBe(2);
  expect(uploader.output()).toBe(
    'The uploader cannot start:\n  OMICRON_ARTIFACT_STORE is wrong: must be s3://<bucket>\n',
  );
});

test('outcomes of recordings are counted, and every replica reports the same', async () => {
  const before = await counted();
  const uploader = await lease.upload();
  lease.writeOrder();
  leave();
  writeFileSync(join(lease.outputDir, 'tab-002.webm'), '');
  expect(await uploader.end()).toBe(0);
  expect(await counted()).toEqual({ stored: before.stored + 1, lost: before.lost + 1 });
});

async function counted() {
  const text = String((await w.stack.call('GET', '/metrics')).body);
  const of = (state: string) =>
    Number(new RegExp(`^omicron_recordings_total\\{state="${state}"\\} (\\d+)$`, 'm').exec(text)?.[1]);
  return { stored: of('stored'), lost: of('lost') };
}

/** Multipart uploads of this lease that are neither completed nor given up. */
async function unfinished() {
  const { Uploads = [] } = await w.s3.send(new ListMultipartUploadsCommand({ Bucket: BUCKET }));
  return Uploads.filter(({ Key }) => Key?.startsWith(lease.order.artifacts_prefix));
}
