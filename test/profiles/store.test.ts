import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CreateKeyCommand, KMSClient } from '@aws-sdk/client-kms';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { OmicronError } from '../../contract/problem.ts';
import type { ProfileStore } from '../../controller/ports/profile-store.ts';
import { bucketStore } from '../../controller/profiles/bucket-store.ts';
import { folderProfileStore } from '../../controller/profiles/folder-store.ts';
import { keyFileWrap } from '../../controller/profiles/key-file.ts';
import { kmsWrap } from '../../controller/profiles/kms.ts';
import { freePort } from '../../local/free-port.ts';
import { protocol } from '../controller/protocol.ts';
import { freshPostgres } from '../postgres.ts';
import { type Moto, motoServer } from '../runner/uploader/moto.ts';
import { keeperOn, stateOf } from './keeper.ts';

const BUCKET = 'omicron-test-profiles';

let moto: Moto;
let folder: string;
beforeAll(async () => {
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'test');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'test');
  folder = await mkdtemp(join(tmpdir(), 'omicron-profiles-'));
  moto = await motoServer('127.0.0.1');
  const admin = new S3Client({ region: 'eu-central-1', endpoint: endpoint(), forcePathStyle: true });
  const location = { LocationConstraint: 'eu-central-1' } as const;
  await admin.send(new CreateBucketCommand({ Bucket: BUCKET, CreateBucketConfiguration: location }));
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await moto[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});
const endpoint = () => `http://127.0.0.1:${moto.port}`;
const bucket = (at = endpoint(), name = BUCKET) => bucketStore({ bucket: name, region: 'eu-central-1', endpoint: at });

describe.each([
  {
    kind: 'a folder',
    make: () => folderProfileStore(folder),
    broken: async () => folderProfileStore(`${folder}/none\0`),
  },
  {
    kind: 'a bucket of a real S3 server',
    make: () => bucket(),
    broken: async () => bucket(`http://127.0.0.1:${await freePort()}`),
  },
])('profiles in $kind', ({ make, broken }) => {
  const name = () => randomBytes(32).toString('hex');

  it('gives back what was put, and nothing for a name that it does not know', async () => {
    const store: ProfileStore = make();
    for (const bytes of [randomBytes(5_000_000), Buffer.alloc(0), Buffer.from('a')]) {
      const object = name();
      expect(await store.get(object)).toBeNull();
      await store.put(object, bytes);
      await store.put(object, bytes); // repeating it changes nothing
      expect((await store.get(object))?.equals(bytes)).toBe(true);
    }
  });

  it('forgets what was removed, and removes what is gone', async () => {
    const [store, object, other] = [make(), name(), name()];
    await Promise.all([store.put(object, Buffer.from('a')), store.put(other, Buffer.from('b'))]);
    await store.remove(object);
    await store.remove(object);
    expect(await store.get(object)).toBeNull();
    expect(String(await store.get(other))).toBe('b');
  });

  it('says profile_unavailable when it cannot be reached: never that an object is gone', async () => {
    const store = await broken();
    const unavailable = { code: 'profile_unavailable' };
    await expect(store.put(name(), Buffer.from('a'))).rejects.toMatchObject(unavailable);
    await expect(store.get(name())).rejects.toMatchObject(unavailable);
    await expect(store.remove(name())).rejects.toMatchObject(unavailable);
  });

  it('keeps the versions of a profile', async () => {
    const { keeper, cookieOf } = await keeperOn(await freshPostgres(), { around: make });
    await keeper.import('ada', 'work', stateOf('one'));
    await keeper.import('ada', 'work', stateOf('two'));
    expect(await keeper.restore('ada', 'work', 1)).toBe(3);
    expect(await cookieOf('ada', 'work')).toBe('one');
    expect(await keeper.remove('ada', 'work')).toBe(true);
  });

  it('stores chunks many at a time, all of them or none that is acknowledged', async () => {
    let refuses = 0;
    const database = await freshPostgres();
    const { keeper, store } = await keeperOn(database, {
      quotaBytes: 50_000,
      around: () => {
        const inner = make();
        const put: ProfileStore['put'] = async (object, bytes) => {
          if (refuses > 0 && --refuses === 0) throw new OmicronError('profile_unavailable', 'the store is away');
          await inner.put(object, bytes);
        };
        return { ...inner, put };
      },
    });
    const p = protocol(database);
    await p.warm(1);
    const lease = p.leaseOf(await p.lease({ profile: { name: 'work', mode: 'read-write' } }));
    const chunks = Array.from({ length: 8 }, () => randomBytes(1_000));
    refuses = 3;
    await expect(keeper.writeChunks(lease, 0, chunks)).rejects.toMatchObject({ code: 'profile_unavailable' });
    const objects = await keeper.writeChunks(lease, 0, chunks);
    for (const object of objects) expect(await store.get(object)).not.toBeNull();
    const named = objects.map((object, place) => ({ object, sha256: object, bytes: chunks[place]?.length ?? 0 }));
    const files = { chromium: 150, files: [], chunks: named };
    expect(await keeper.saveFor(lease, 0, { state: stateOf('one'), files })).toBe(1);
    expect(await keeper.readChunks(lease, objects)).toEqual(chunks);
    // one that does not fit is refused with those that would have
    const before = await database.query('select name from omicron.profile_objects');
    await expect(keeper.writeChunks(lease, 1, [randomBytes(10), randomBytes(49_000)])).rejects.toMatchObject({
      code: 'profile_quota_exceeded',
    });
    expect(await database.query('select name from omicron.profile_objects')).toEqual(before);
    // nor does a runner that lost its place write one, or over a version that is not the last
    await expect(keeper.writeChunks(lease, 0, chunks)).rejects.toMatchObject({ code: 'profile_changed' });
    await keeper.release(lease);
    await expect(keeper.writeChunks(lease, 1, chunks)).rejects.toMatchObject({ code: 'lease_superseded' });
  });
});

describe.each([
  { kind: 'the key file', make: async () => keyFileWrap(Buffer.alloc(32, 'k')) },
  {
    kind: 'a KMS',
    make: async () => {
      const admin = new KMSClient({ region: 'eu-central-1', endpoint: endpoint() });
      const { KeyMetadata } = await admin.send(new CreateKeyCommand({}));
      return kmsWrap({ keyArn: KeyMetadata?.Arn ?? '', endpoint: endpoint() });
    },
  },
])('keys of users under $kind', ({ make }) => {
  it('opens a key for its own user, and a changed one for no user', async () => {
    const keys = await make();
    const key = randomBytes(32);
    const wrapped = await keys.wrap(key, 'ada');
    expect(wrapped).not.toContain(key.toString('base64'));
    expect(await keys.unwrap(wrapped, 'ada')).toEqual(key);
    const unavailable = { code: 'profile_unavailable' };
    await expect(keys.unwrap(wrapped, 'bob')).rejects.toMatchObject(unavailable);
    await expect(keys.unwrap(`${wrapped.slice(0, -8)}AAAAAAA=`, 'ada')).rejects.toMatchObject(unavailable);
  });
});

it('lets no other user of the machine read the folder', async () => {
  const own = await mkdtemp(join(tmpdir(), 'omicron-profiles-'));
  onTestFinished(() => rm(own, { recursive: true, force: true }));
  await folderProfileStore(join(own, 'profiles')).put('ab'.repeat(32), Buffer.from('a'));
  for (const entry of await readdir(own, { recursive: true, withFileTypes: true })) {
    const { mode } = await stat(join(entry.parentPath, entry.name));
    expect([entry.name, mode & 0o077]).toEqual([entry.name, 0]);
  }
});

it('is not misled by a bucket that is not there: no profile is taken for empty', async () => {
  await expect(bucket(endpoint(), 'no-such-bucket').get('ab'.repeat(32))).rejects.toMatchObject({
    code: 'profile_unavailable',
  });
});
