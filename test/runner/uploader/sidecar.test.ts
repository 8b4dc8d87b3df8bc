import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { callPicture, LAST_PAGE, PAGE_FOLDER } from '../../../contract/page-names.ts';
import { UPLOAD_ORDER_FILE } from '../../../contract/reports.ts';
import { eventually } from '../../eventually.ts';
import {
  growing,
  lease,
  leaseEachTest,
  leave,
  partsSeen,
  sample,
  storedRow,
  stores,
  TAB,
  tab,
  w,
} from './sidecar-lease.ts';
import { BUCKET } from './world.ts';

leaseEachTest();

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
