import { text } from 'node:stream/consumers';
import {
  CreateBucketCommand,
  DeleteObjectCommand,
  PutBucketLifecycleConfigurationCommand,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { bucketArtifacts } from '../../../controller/artifacts/bucket.ts';
import { retainArtifacts } from '../../../controller/loops/reap.ts';
import { surveyArtifacts } from '../../../controller/loops/survey.ts';
import { prometheusMetrics } from '../../../controller/metrics.ts';
import type { ArtifactStore } from '../../../controller/ports/artifacts.ts';
import { freshPostgres } from '../../postgres.ts';
import { type Moto, motoServer } from '../../runner/uploader/moto.ts';
import { protocol } from '../protocol.ts';

const BUCKET = 'artifacts';
const ROOT = `s3://${BUCKET}/`;
const SESSION = 'pw-videos/prod/session/1-runner/';
const log = pino({ level: 'silent' });

let moto: Moto;
let s3: S3Client;
let artifacts: ArtifactStore;
beforeAll(async () => {
  moto = await motoServer('127.0.0.1');
  process.env.AWS_ACCESS_KEY_ID = 'test';
  process.env.AWS_SECRET_ACCESS_KEY = 'test';
  const endpoint = `http://127.0.0.1:${moto.port}`;
  const region = 'eu-central-1';
  s3 = new S3Client({ region, endpoint, forcePathStyle: true });
  await s3.send(new CreateBucketCommand({ Bucket: BUCKET, CreateBucketConfiguration: { LocationConstraint: region } }));
  artifacts = bucketArtifacts({ bucket: BUCKET, region, endpoint, env: 'prod' });
});
afterAll(async () => {
  s3?.destroy();
  await moto?.[Symbol.asyncDispose]();
});

const put = (Key: string, Body: string) => s3.send(new PutObjectCommand({ Bucket: BUCKET, Key, Body }));
const expireAfter = (Days: number, Prefix: string) =>
  s3.send(
    new PutBucketLifecycleConfigurationCommand({
      Bucket: BUCKET,
      LifecycleConfiguration: {
        Rules: [{ ID: 'expire', Status: 'Enabled', Filter: { Prefix }, Expiration: { Days } }],
      },
    }),
  );

it('[O21] says what the bucket holds and for how long, and that it cannot be looked at', async () => {
  const stats = {
    active: 0,
    starting: 0,
    capacity: 0,
    runners: {},
    ended: {},
    freezes: {},
    recordings: {},
    hibernated: 0,
    waiting: 0,
    hibernations: {},
  };
  // Metrics ask the directory for the stats alone.
  const metrics = prometheusMetrics({ stats: async () => stats } as unknown as Parameters<typeof prometheusMetrics>[0]);
  const look = async (store: Pick<ArtifactStore, 'survey'> = artifacts) => {
    await surveyArtifacts({ artifacts: store, metrics, retention: { videos: 7, pages: 3 }, log });
    const isShown = (line: string) => /^omicron_artifact_store_(?!.*prefix="(?!pw-videos\/))/.test(line);
    const lines = (await metrics.text()).split('\n').filter(isShown);
    return Object.fromEntries(lines.map(line => [line.replace(/\{.*| .*/g, ''), Number(line.split(' ').at(-1))]));
  };
  expect(await look()).toMatchObject({ omicron_artifact_store_objects: 0, omicron_artifact_store_expiry_seconds: 0 });
  const beganSeconds = Math.floor(Date.now() / 1_000);
  await put(`${SESSION}tab-001.webm`, 'video');
  await put(`${SESSION}downloads/a.txt`, 'file');
  await put('pw-videos/dev/other', 'of another environment');
  await expireAfter(30, 'profiles/');
  expect(await look()).toMatchObject({ omicron_artifact_store_objects: 2, omicron_artifact_store_expiry_seconds: 0 });
  await expireAfter(7, 'pw-videos/');
  const held = await look();
  expect(held).toMatchObject({
    omicron_artifact_store_objects: 2,
    omicron_artifact_store_bytes: 9,
    omicron_artifact_store_expiry_seconds: 7 * 86_400,
    omicron_artifact_store_retention_seconds: 7 * 86_400,
    omicron_artifact_store_check_failures_total: 0,
  });
  expect(held.omicron_artifact_store_oldest_timestamp_seconds).toBeGreaterThanOrEqual(beganSeconds);
  const broken = { survey: async () => Promise.reject(new Error('AccessDenied')) };
  expect(await look(broken)).toMatchObject({
    omicron_artifact_store_objects: 2,
    omicron_artifact_store_check_failures_total: 1,
  });
});

it('reads what its role may read, in parts too', async () => {
  const uri = `${ROOT}${SESSION}uploads/Grüße.txt`;
  await put(uri.slice(ROOT.length), 'Grüße aus Löw');
  const content = await artifacts.read(uri);
  expect(content?.bytes).toBe(16);
  expect(content && (await text(content.stream(0, 6)))).toBe('Grüße');
  expect(await artifacts.read(`${ROOT}${SESSION}uploads/none.txt`)).toBeNull();
  expect(await artifacts.read('s3://other/uploads/a.txt')).toBeNull();

  // https://docs.getmoto.org/en/latest/docs/iam.html: from now on the server refuses every identity
  const identify = (afterRequests: string) =>
    fetch(`http://127.0.0.1:${moto.port}/moto-api/reset-auth`, { method: 'POST', body: afterRequests });
  await identify('0');
  expect(await artifacts.read(uri)).toBeNull();
  await identify('inf');
  expect(await artifacts.read(uri)).not.toBeNull();
});

it('[S4] an artifact is expired once its object is gone, and not before', async () => {
  const database = await freshPostgres();
  const p = protocol(database);
  await p.warm(1);
  const lease = p.leaseOf(await p.lease());
  for (const name of ['tab-001.webm', 'tab-0010.webm']) {
    await put(`${SESSION}old/${name}`, 'video');
    await p.broker.writeArtifact(lease, { state: 'stored', name, uri: `${ROOT}${SESSION}old/${name}`, bytes: 5 });
  }
  await database.query(`update omicron.artifacts set created_at = created_at - interval '8 days'`);
  const states = async () => {
    await retainArtifacts({ maintenance: p.maintenance, artifacts, retention: { videos: 7, pages: 3 }, log });
    return (await database.query<{ state: string }>('select state from omicron.artifacts order by name')).map(
      row => row.state,
    );
  };
  expect(await states()).toEqual(['stored', 'stored']);
  // Its name is the beginning of the other one's.
  await s3.send(new DeleteObjectCommand({ Bucket: BUCKET, Key: `${SESSION}old/tab-001.webm` }));
  expect(await states()).toEqual(['expired', 'stored']);
});
