import { randomUUID } from 'node:crypto';
import { CreateBucketCommand, GetObjectCommand, ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { AUDIENCES, ENV } from '../../contract/names.ts';
import { serviceKey, signServiceToken } from '../../contract/tokens.ts';
import { bucketAuditFiles } from '../../controller/audit/bucket-files.ts';
import { exportAudit } from '../../controller/loops/audit-export.ts';
import type { AuditFiles } from '../../controller/ports/audit-files.ts';
import type { Database } from '../../controller/ports/database.ts';
import { sqlAudit } from '../../controller/store/audit.ts';
import { runHere } from '../cli/run-here.ts';
import { eventually } from '../eventually.ts';
import { connection, freshPostgres } from '../postgres.ts';
import { type Moto, motoServer } from '../runner/uploader/moto.ts';
import { protocol } from './protocol.ts';
import { someUser, startStack } from './stack.ts';

const REGION = 'eu-central-1';
const SECRET = 'a service secret of 32 bytes, for tests';
/** No file may hold it. */
const PASSWORD = `hunter2-${randomUUID()}`;

let moto: Moto;
let s3: S3Client;
const endpoint = () => `http://127.0.0.1:${moto.port}`;
beforeAll(async () => {
  moto = await motoServer('127.0.0.1');
  process.env.AWS_ACCESS_KEY_ID = 'test';
  process.env.AWS_SECRET_ACCESS_KEY = 'test';
  s3 = new S3Client({ region: REGION, endpoint: endpoint(), forcePathStyle: true });
});
afterAll(async () => {
  s3?.destroy();
  await moto?.[Symbol.asyncDispose]();
});

async function newBucket(): Promise<string> {
  const Bucket = `audit-${randomUUID()}`;
  await s3.send(new CreateBucketCommand({ Bucket, CreateBucketConfiguration: { LocationConstraint: REGION } }));
  return Bucket;
}

type Entry = Record<string, unknown> & { id: number; action: string };

async function entriesIn(Bucket: string): Promise<{ text: string; entries: Entry[]; files: number }> {
  const { Contents = [] } = await s3.send(new ListObjectsV2Command({ Bucket, Prefix: 'audit/' }));
  const keys = Contents.map(({ Key }) => String(Key)).sort();
  let text = '';
  const entries: Entry[] = [];
  for (const Key of keys) {
    const body = await (await s3.send(new GetObjectCommand({ Bucket, Key }))).Body?.transformToString();
    text += body;
    const lines = String(body).trimEnd().split('\n');
    entries.push(...lines.slice(1).map((line): Entry => JSON.parse(line)));
  }
  return { text, entries, files: keys.length };
}

const verify = (bucket: string, env: string, ...more: string[]) =>
  runHere(['audit', 'verify', `s3://${bucket}/audit/${env}/`, ...more], {
    environment: { AWS_REGION: REGION, AWS_ENDPOINT_URL_S3: endpoint() },
  });

const inBucket = (bucket: string) => ({
  ...{ [ENV.provider]: 'kubernetes', [ENV.artifactStore]: `s3://${bucket}`, [ENV.awsRegion]: REGION },
  ...{ AWS_ENDPOINT_URL_S3: endpoint(), OMICRON_POOL_IDLE: 1, [ENV.serviceSecret]: SECRET },
});

it('says who did what by the API, for a person of the console, in a session, and refused; no secret is in a file', async () => {
  const bucket = await newBucket();
  await using stack = await startStack({ ...inBucket(bucket), [ENV.auditExportSeconds]: 1 });
  const [user, other] = [someUser(), someUser()];
  const person = { sub: 'person-1', name: 'ada@example.com', via: 'console' };
  const token = await signServiceToken(serviceKey(SECRET), undefined, AUDIENCES.controller, person);
  const credential = { username: 'ada', password: PASSWORD, url: 'walmart.com' };
  const policy = { version: 1, credentials: { walmart: ['walmart.com'] } };
  expect((await stack.call('PUT', `/internal/users/${user}/policy`, { body: policy, token })).status).toBe(200);
  expect((await stack.call('PUT', `/internal/users/${user}/credentials/walmart`, { body: credential })).status).toBe(
    204,
  );
  const refused = await stack.call('DELETE', `/internal/users/${other}/credentials/walmart`, { user });
  expect(refused.status).toBe(403);
  const wrong = { ...credential, password: 7, note: PASSWORD };
  expect((await stack.call('PUT', `/internal/users/${user}/credentials/walmart`, { body: wrong })).status).toBe(400);
  const { session_id } = await stack.lease({ user_id: user, conversation_id: 'chat-1' });
  await stack.database.query(
    `select omicron.write_event($1, 1, 'control.taken', '{"viewer": "bob", "identity": "person-2", "unknown": "${PASSWORD}"}')`,
    [session_id],
  );
  expect((await stack.call('GET', `/internal/users/${user}/credentials`, {})).status).toBe(200);
  expect((await stack.call('DELETE', `/internal/browser-sessions/${session_id}`, {})).status).toBeLessThan(300);

  const found = await eventually('all entries', async () => {
    const read = await entriesIn(bucket);
    return read.entries.some(({ action }) => action === 'session.ended') && read;
  });
  const ofUser = { user_id: user };
  expect(found.entries.map(({ id, at, ...entry }) => entry)).toEqual([
    {
      ...{ source: 'console', actor: { id: 'person-1', name: 'ada@example.com' }, action: 'putUserPolicy' },
      ...{ target: ofUser, status: 200, policy },
    },
    ...[204, 403, 400].map(status => ({
      ...{ source: 'api', actor: status === 403 ? { token_user: user } : {}, status },
      action: status === 403 ? 'deleteCredential' : 'putCredential',
      target: { user_id: status === 403 ? other : user, site: 'walmart' },
    })),
    expect.objectContaining({ source: 'session', action: 'session.claimed' }),
    {
      ...{ source: 'session', action: 'control.taken', actor: { id: 'person-2', name: 'bob' }, data: {} },
      target: { session_id, epoch: 1, user_id: user },
    },
    expect.objectContaining({ action: 'session.ended', data: { reason: 'released' } }),
    expect.objectContaining({ source: 'api', action: 'endSession', target: { session_id }, status: 200 }),
  ]);
  expect(found.text).not.toContain(PASSWORD);
  const checked = await verify(bucket, 'local');
  expect(checked.code).toBe(0);
  expect(JSON.parse(checked.stdout)).toMatchObject({ files: found.files, entries: 8, intact: true });
});

it('writes nothing where it is off, where there is no bucket, and where the region is unknown', async () => {
  const bucket = await newBucket();
  for (const settings of [
    { ...inBucket(bucket), [ENV.auditExportSeconds]: 0 },
    { ...inBucket(bucket), [ENV.awsRegion]: undefined },
    { [ENV.serviceSecret]: SECRET },
  ]) {
    await using stack = await startStack(settings);
    const { status } = await stack.call('PUT', `/internal/users/${someUser()}/policy`, { body: { version: 1 } });
    expect(status).toBe(200);
    expect(await stack.database.query('select id from omicron.audit_entries')).toEqual([]);
  }
});

it('answers a change whose entry cannot be written as failed', async () => {
  const bucket = await newBucket();
  await using stack = await startStack({ ...inBucket(bucket), [ENV.auditExportSeconds]: 3600 });
  stack.loseAnswer('write_audit');
  const answer = await stack.call('PUT', `/internal/users/${someUser()}/policy`, { body: { version: 1 } });
  expect(answer.status).toBe(503);
});

/** A transaction of any test on this server keeps entries after its beginning for the next file. */
const entriesAreDue = (database: Database) =>
  eventually('no older transaction is open', async () => {
    const held = 'select id from omicron.audit_entries where tx >= omicron.event_horizon()';
    return (await database.query(held)).length === 0;
  });

const log = pino({ level: 'silent' });
const metrics = () => ({ waits: 0, failed: 0 });

/** A round of a replica that does nothing more from one of its steps on: as much as a process does that was killed there. */
async function round(
  database: Database,
  files: AuditFiles,
  killAt: number,
): Promise<{ isDead: boolean; failed: number }> {
  let [steps, isDead] = [0, false];
  const step = () => {
    steps += 1;
    isDead ||= steps === killAt;
    if (isDead) throw new Error('killed');
  };
  const around = async <T>(work: () => Promise<T>): Promise<T> => {
    step();
    const done = await work();
    step();
    return done;
  };
  const seen = metrics();
  await exportAudit({
    audit: sqlAudit({ ...database, query: (sql, values) => around(() => database.query(sql, values)) }),
    files: { put: (key, body) => around(() => files.put(key, body)) },
    metrics: {
      auditWaits(seconds) {
        seen.waits = seconds;
      },
      auditFailed() {
        seen.failed += 1;
      },
    },
    environment: 'prod',
    everySeconds: 0,
    log,
  });
  return { isDead, failed: seen.failed };
}

it('loses and doubles no entry when replicas are killed, each at another of its steps', async () => {
  const database = await freshPostgres();
  const [bucket, audit] = [await newBucket(), sqlAudit(database)];
  const files = bucketAuditFiles({ bucket, region: REGION, endpoint: endpoint() });
  await audit.activate(true);
  let written = 0;
  let kills = 0;
  for (let killAt = 1; killAt <= 40; killAt += 1) {
    written += 1;
    await audit.write({ source: 'api', actor: {}, action: `deed-${written}`, target: {}, status: 204 });
    await entriesAreDue(database);
    const { isDead } = await round(database, files, 1 + (killAt % 8));
    kills += Number(isDead);
    // the hold of the one that was killed has passed
    await database.query('update omicron.audit_chain set held_until = clock_timestamp()');
  }
  await round(database, files, 0);
  const { entries } = await entriesIn(bucket);
  expect(entries.map(({ action }) => action)).toEqual(Array.from({ length: written }, (_, n) => `deed-${n + 1}`));
  expect(kills).toBe(40);
  expect(JSON.parse((await verify(bucket, 'prod')).stdout)).toMatchObject({ intact: true, entries: written });
});

it('is done by one replica at a time', async () => {
  const database = await freshPostgres();
  const [bucket, audit] = [await newBucket(), sqlAudit(database)];
  const files = bucketAuditFiles({ bucket, region: REGION, endpoint: endpoint() });
  await audit.activate(true);
  for (let n = 0; n < 50; n += 1)
    await audit.write({ source: 'api', actor: {}, action: `deed-${n}`, target: {}, status: 204 });
  await entriesAreDue(database);
  const bounds = { everySeconds: 0, entriesMax: 10, holdSeconds: 60 };
  const first = await audit.take('prod', bounds);
  expect(first?.file?.sequence).toBe(1);
  expect(await audit.take('prod', bounds)).toBeNull();
  await audit.written(1);
  await files.put('audit/prod/x', 'x'); // an object of another kind is reported
  await Promise.all(Array.from({ length: 4 }, () => round(database, files, 0)));
  expect((await database.query('select id from omicron.audit_entries')).length).toBe(0);
  const told = await verify(bucket, 'prod');
  expect(told.code).toBe(1);
  expect(told.stderr).toContain('file 1: missing');
  expect(told.stderr).toContain('x: not an audit file');
});

it('leaves an entry, and those after it, for the next file while its transaction is open', async () => {
  const database = await freshPostgres();
  const audit = sqlAudit(database);
  await audit.activate(true);
  const deed = (action: string) => ({ source: 'api', actor: {}, action, target: {}, status: 204 });
  const bounds = { everySeconds: 0, entriesMax: 10, holdSeconds: 60 };
  const open = await connection(database.url);
  await open.query('begin');
  await open.query('select omicron.write_audit($1)', [deed('first')]);
  await audit.write(deed('second'));
  expect((await audit.take('prod', bounds))?.file).toBeUndefined();
  await open.query('commit');
  await entriesAreDue(database);
  const { file } = (await audit.take('prod', bounds)) ?? {};
  const [, ...entries] = file?.body.trimEnd().split('\n') ?? [];
  expect(entries.map(entry => JSON.parse(entry).action)).toEqual(['first', 'second']);
});

it('has files only as often as it is set, and counts a bucket that takes none', async () => {
  const database = await freshPostgres();
  const audit = sqlAudit(database);
  await audit.activate(true);
  // The database is a copy of one that began its chain with this run of tests, perhaps longer ago than a file takes.
  await database.query('update omicron.audit_chain set cut_at = clock_timestamp()');
  await protocol(database).warm(1); // no deed
  await audit.write({ source: 'api', actor: {}, action: 'deed', target: {}, status: 204 });
  const seldom = await audit.take('prod', { everySeconds: 300, entriesMax: 10, holdSeconds: 60 });
  expect(seldom?.file).toBeUndefined();
  expect(seldom?.waitsSeconds).toBeGreaterThan(0);
  await entriesAreDue(database);
  const none = bucketAuditFiles({ bucket: 'no-such-bucket', region: REGION, endpoint: endpoint() });
  expect(await round(database, none, 0)).toEqual({ isDead: false, failed: 1 });
  await database.query('update omicron.audit_chain set held_until = clock_timestamp()');
  const bucket = await newBucket();
  expect((await round(database, bucketAuditFiles({ bucket, region: REGION, endpoint: endpoint() }), 0)).failed).toBe(0);
  expect((await entriesIn(bucket)).entries.map(({ action }) => action)).toEqual(['deed']);
});
