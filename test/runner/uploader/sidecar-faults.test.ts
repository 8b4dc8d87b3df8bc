import { PutObjectCommand } from '@aws-sdk/client-s3';
import { expect, test } from 'vitest';
import { eventually } from '../../eventually.ts';
import { cuttableWire } from '../../fakes/cut.ts';
import { growing, lease, leaseEachTest, leave, storedRow, stores, TAB, unfinished, w } from './sidecar-lease.ts';
import { BUCKET } from './world.ts';

// The uploader beside a store or a controller that fails.

leaseEachTest();

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
