import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { finished } from 'node:stream';
import { CreateBucketCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ENV } from '../../../contract/names.ts';
import { serviceKey, signServiceToken } from '../../../contract/tokens.ts';
import { eventually } from '../../eventually.ts';
import { motoServer } from '../../runner/uploader/moto.ts';
import { expectProblem } from '../http/expect-problem.ts';
import { type Stack, startStack } from '../stack.ts';

const BUCKET = 'videos';
const SECRET = 'a service secret of 32 bytes, for tests';
const MB = 1024 * 1024;
/** More than the sockets between the bucket and a reader hold. */
const VIDEO = Buffer.alloc(64 * MB, 'video ');

/** A wire before the S3 server that counts what is fetched. */
interface Wire extends AsyncDisposable {
  readonly port: number;
  readonly fetched: () => number;
  /** Resolves when the newest connection is closed. */
  readonly closed: () => Promise<unknown>;
}

async function wireTo(port: number): Promise<Wire> {
  const sockets: Socket[] = [];
  let fetched = 0;
  const server = createServer(socket => {
    sockets.push(socket);
    const store = connect(port, '127.0.0.1');
    store.on('data', ({ length }) => {
      fetched += length;
    });
    socket.pipe(store).pipe(socket);
    for (const [one, other] of [
      [socket, store],
      [store, socket],
    ] as const)
      one.on('error', () => other.destroy()).on('close', () => other.destroy());
  });
  await new Promise<void>(listening => server.listen(0, '127.0.0.1', listening));
  return {
    port: (server.address() as AddressInfo).port, // a TCP server that listens has one
    fetched: () => fetched,
    closed: () => new Promise(closed => finished(sockets.at(-1) as Socket, closed)), // asked after a request
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise(closed => server.close(closed));
    },
  };
}

const parts = new AsyncDisposableStack();
let stack: Stack;
let wire: Wire;
let path: string;
beforeAll(async () => {
  const moto = parts.use(await motoServer('127.0.0.1'));
  wire = parts.use(await wireTo(moto.port));
  process.env.AWS_ACCESS_KEY_ID = 'test';
  process.env.AWS_SECRET_ACCESS_KEY = 'the secret key';
  const region = 'eu-central-1';
  const s3 = new S3Client({ region, endpoint: `http://127.0.0.1:${moto.port}`, forcePathStyle: true });
  await s3.send(new CreateBucketCommand({ Bucket: BUCKET, CreateBucketConfiguration: { LocationConstraint: region } }));
  stack = parts.use(
    await startStack({
      ...{ [ENV.provider]: 'kubernetes', [ENV.artifactStore]: `s3://${BUCKET}`, [ENV.awsRegion]: region },
      ...{ AWS_ENDPOINT_URL_S3: `http://127.0.0.1:${wire.port}`, OMICRON_POOL_IDLE: 1, [ENV.serviceSecret]: SECRET },
    }),
  );
  path = await storedVideo(stack, `s3://${BUCKET}/`, Key =>
    s3.send(new PutObjectCommand({ Bucket: BUCKET, Key, Body: VIDEO })),
  );
  s3.destroy();
});
afterAll(() => parts.disposeAsync());

/** The route of a video of ada's lease that is stored there. */
async function storedVideo(at: Stack, root: string, put: (key: string) => Promise<unknown>): Promise<string> {
  const { session_id } = await at.lease({ user_id: 'ada' });
  const { runner, token } = await eventually('the leased runner', () =>
    [...at.machine.runners.entries()]
      .map(([runner, { redeemed }]) => ({ runner, token: redeemed?.artifact_token }))
      .find(({ token }) => token),
  );
  const key = `pw-videos/prod/${session_id}/1-${runner}/tab-001.webm`;
  await put(key);
  const report = { state: 'stored', name: 'tab-001.webm', uri: `${root}${key}`, bytes: VIDEO.length };
  await at.call('POST', '/internal/runner-artifacts', { token: token ?? null, body: report });
  const listed = await at.call('GET', `/internal/browser-sessions/${session_id}/artifacts`);
  const [{ id }] = (listed.body as { artifacts: [{ id: string }] }).artifacts; // one was just reported
  return `/internal/browser-sessions/${session_id}/artifacts/${id}`;
}

it('a video in S3 is answered in parts, to those who may read its session', async () => {
  const part = await stack.call('GET', `${path}/content`, { headers: { range: 'bytes=6-16' }, user: 'ada' });
  expect([part.status, part.body]).toEqual([206, 'video video']);
  expect(part.headers.get('content-range')).toBe(`bytes 6-16/${VIDEO.length}`);
  expectProblem(await stack.call('GET', `${path}/content`, { user: 'bob' }), 'session_not_found');
});

it('it is streamed: who stops reading stops the bucket', async () => {
  const before = wire.fetched();
  const leaving = new AbortController();
  const answer = await fetch(`${stack.url}${path}/content`, {
    headers: { authorization: `Bearer ${await signServiceToken(serviceKey(SECRET))}` },
    signal: leaving.signal,
  });
  const { value } = (await answer.body?.getReader().read()) ?? {};
  expect(Buffer.from(value ?? []).toString()).toMatch(/^video /);
  leaving.abort();
  await wire.closed();
  expect(wire.fetched() - before).toBeLessThan(VIDEO.length / 2);
});

it('a URL of it is given for a minute, reads it without the controller, and is in no log', async () => {
  const began = Date.now();
  const answer = await stack.call('POST', `${path}/url`, { user: 'ada' });
  expect([answer.status, answer.headers.get('cache-control')]).toEqual([200, 'no-store']);
  const { url, expires_at } = answer.body as { url: string; expires_at: string }; // checked by what follows
  expect(Date.parse(expires_at) - began).toBeGreaterThanOrEqual(60_000);
  expect(Date.parse(expires_at) - Date.now()).toBeLessThanOrEqual(60_000);

  const { pathname, searchParams: query } = new URL(url);
  expect(pathname).toMatch(RegExp(`^/${BUCKET}/pw-videos/.*/tab-001.webm$`));
  expect(query.get('X-Amz-Expires')).toBe('60');
  expect(query.get('X-Amz-Signature')).toMatch(/^[0-9a-f]{64}$/);
  const read = await fetch(url, { headers: { range: 'bytes=6-16' } });
  expect([read.status, await read.text()]).toEqual([206, 'video video']);
  expect((await fetch(url.replace(/\?.*/, ''))).status).toBe(403);
  // Signed with the rest, and obeyed by S3, not by this server: https://docs.aws.amazon.com/AmazonS3/latest/API/API_GetObject.html
  expect(query.get('response-content-type')).toBe('video/webm');
  expect(query.get('response-content-disposition')).toBe("attachment; filename*=UTF-8''tab-001.webm");

  const longer = await stack.call('POST', `${path}/url`, { body: { ttl_seconds: 300 } });
  expect((longer.body as { url: string }).url).toContain('X-Amz-Expires=300');
  expect(stack.logged()).toContain('artifact URL signed');
  for (const secret of [query.get('X-Amz-Signature') ?? '', 'X-Amz-Signature', 'the secret key'])
    expect(stack.logged()).not.toContain(secret);
});

it('no URL is given to others, for longer, or of what is not there', async () => {
  const ask = (options = {}, to = path) => stack.call('POST', `${to}/url`, options);
  expectProblem(await ask({ user: 'bob' }), 'session_not_found');
  expectProblem(await ask({ body: { ttl_seconds: 301 } }), 'invalid_request');
  expectProblem(await ask({ body: { ttl_seconds: 0 } }), 'invalid_request');
  expectProblem(await ask({ token: null }), 'unauthorized');
  expectProblem(await ask({}, path.replace(/[^/]+$/, crypto.randomUUID())), 'artifact_not_found');
});
