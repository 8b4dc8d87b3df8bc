import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { basic, get, isAnswer, tunnel, untilClosed } from '../../egress/raw-client.ts';
import { clip, type UploadWorld, uploadWorld } from './world.ts';

let w: UploadWorld;
const folder = mkdtempSync(join(tmpdir(), 'omicron-test-clip-'));
beforeAll(async () => {
  w = await uploadWorld({ tls: true });
});
afterAll(async () => {
  await w[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

test('S3 and STS are reached by tunnels of the egress proxy, through which nothing but TLS goes', async () => {
  await using lease = await w.lease();
  const uploader = await lease.upload();
  lease.writeOrder();
  writeFileSync(join(lease.outputDir, 'tab-001.webm'), readFileSync(clip(folder)));
  const local = lease.keep('tab-001.webm');
  expect(await uploader.end()).toBe(0);
  expect(await lease.object('tab-001.webm')).toEqual(local());

  const { host, hostname, port } = new URL(w.endpoints.s3);
  const auth = basic(lease.order.runner_id, lease.order.upload_credential ?? '');
  expect((await get(w.egressPort, auth, `http://${host}/`)).refusal).toBe('https_only');
  const plain = await tunnel(w.egressPort, auth, `${hostname}:${port}`, 'GET / HTTP/1.1\r\n\r\n');
  if (isAnswer(plain)) throw new Error(plain.refusal);
  expect(await untilClosed(plain)).toBe('');
});

test('a proxy that refuses is the reason of the loss, without its credential', async () => {
  await using lease = await w.lease();
  const uploader = await lease.upload({ OMICRON_UPLOAD_SECONDS: '2' });
  const wrong = 'not-the-credential';
  lease.writeOrder({ upload_credential: wrong });
  writeFileSync(join(lease.outputDir, 'tab-001.webm'), readFileSync(clip(folder)));
  expect(await uploader.end()).toBe(0);
  const [artifact] = await lease.artifacts();
  expect(artifact).toMatchObject({ state: 'lost', reason: expect.stringContaining('407') });
  for (const secret of [wrong, btoa(`${lease.runner.id}:${wrong}`)]) {
    expect(artifact?.reason).not.toContain(secret);
    expect(uploader.output()).not.toContain(secret);
  }
});
