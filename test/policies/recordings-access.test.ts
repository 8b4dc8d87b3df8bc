import { beforeAll, describe, expect, test } from 'vitest';
import { artifactKey } from '../../contract/artifact-name.ts';
import { videoPrefix } from '../../contract/names.ts';
import { LAST_PAGE } from '../../contract/page-names.ts';
import { ACCOUNT, arn, REGION } from '../infra/aws.ts';
import { evaluate, type PermissionCheck, type Verdict } from './evaluate.ts';
import { type StackDocuments, stackDocuments } from './stack-documents.ts';

const PREFIX = videoPrefix('dev', 'session-1', 3, 'runner-1');
const KEY = artifactKey(PREFIX, 'video.webm');
const PAGE = artifactKey(PREFIX, LAST_PAGE.picture);
const STRANGER = '999988887777';

let documents: StackDocuments;
beforeAll(async () => {
  documents = await stackDocuments();
});

type Context = Record<string, string>;

/** A requester, and the documents attached to it. */
interface Asker {
  readonly role: string;
  readonly account: string;
  readonly identity: () => unknown[];
}

const ofStack = (role: string): Asker => ({
  role: arn.role(`omicron-browser-dev-${role}`),
  account: ACCOUNT,
  identity: () => [documents.identityOf(role)],
});
const uploader = ofStack('uploader');
const controller = ofStack('controller');
const reader = ofStack('artifact-reader');

/** A role whose own policy allows everything: what is refused to it, the bucket's or key's document refuses. */
const ALL = { Version: '2012-10-17', Statement: { Effect: 'Allow', Action: '*', Resource: '*' } };
const mighty = (role: string, account = ACCOUNT): Asker => ({ role, account, identity: () => [ALL] });
const accountAdmin = mighty(arn.role('some-admin'));
const stranger = mighty(`arn:aws:iam::${STRANGER}:role/somebody`, STRANGER);

const session = ({ role }: Asker): string =>
  `${role.replace(':iam:', ':sts:').replace(':role/', ':assumed-role/')}/pod-1`;

async function ask(who: Asker, action: string, resource: string, context: Context = {}): Promise<Verdict> {
  const about: PermissionCheck = {
    principal: session(who),
    action,
    resource,
    account: ACCOUNT,
    context: { 'aws:PrincipalArn': who.role, 'aws:PrincipalAccount': who.account, ...context },
  };
  const resourceDocument = action.startsWith('kms:') ? documents.keyPolicy : documents.bucketPolicy;
  return evaluate(about, { identity: who.identity(), resource: resourceDocument });
}

const TLS: Context = { 'aws:SecureTransport': 'true', 's3:TlsVersion': '1.3', 'aws:PrincipalIsAWSService': 'false' };
const SSE = 's3:x-amz-server-side-encryption';
const SSE_KEY = 's3:x-amz-server-side-encryption-aws-kms-key-id';
/** A write that is complete and makes the object: PutObject, or CompleteMultipartUpload. */
const CREATE: Context = { ...TLS, 's3:ObjectCreationOperation': 'true', 's3:if-none-match': '*' };
/** CreateMultipartUpload and UploadPart. */
const STEP: Context = { ...TLS, 's3:ObjectCreationOperation': 'false' };

const object = (key = KEY): string => `${arn.bucket(documents.bucket)}/${key}`;
const put = (who: Asker, context: Context = CREATE, key = KEY): Promise<Verdict> =>
  ask(who, 's3:PutObject', object(key), context);
const without = (context: Context, key: string): Context =>
  Object.fromEntries(Object.entries(context).filter(([name]) => name !== key));

/** How S3 uses the key for a caller. */
const throughS3 = (bucket = documents.bucket): Context => ({
  'kms:ViaService': `s3.${REGION}.amazonaws.com`,
  'kms:CallerAccount': ACCOUNT,
  'kms:EncryptionContext:aws:s3:arn': arn.bucket(bucket),
});
const useKey = (who: Asker, action: string, context = throughS3()): Promise<Verdict> =>
  ask(who, `kms:${action}`, documents.keyArn, context);

const ALLOWED = { allowed: true, refusedBy: [] };
/** No statement denies it; none allows it. */
const NOT_GRANTED = { allowed: false, refusedBy: [] };
const refusedBy = (...sids: string[]) => ({ allowed: false, refusedBy: expect.arrayContaining(sids) });

describe('[O14] the uploader', () => {
  test('writes an object of its prefixes, under the bucket’s default encryption', async () => {
    expect(await put(uploader)).toEqual(ALLOWED);
    expect(await put(uploader, CREATE, PAGE)).toEqual(ALLOWED);
    expect(await useKey(uploader, 'GenerateDataKey')).toEqual(ALLOWED);
  });

  test('writes an object that names the right key', async () => {
    expect(await put(uploader, { ...CREATE, [SSE]: 'aws:kms', [SSE_KEY]: documents.keyArn })).toEqual(ALLOWED);
  });

  test('uploads in parts: begins, sends parts without encryption headers, completes, gives up', async () => {
    expect(await put(uploader, { ...STEP, [SSE]: 'aws:kms', [SSE_KEY]: documents.keyArn })).toEqual(ALLOWED);
    expect(await put(uploader, STEP)).toEqual(ALLOWED);
    expect(await put(uploader, CREATE)).toEqual(ALLOWED);
    expect(await ask(uploader, 's3:AbortMultipartUpload', object(), TLS)).toEqual(ALLOWED);
    expect(await useKey(uploader, 'GenerateDataKey')).toEqual(ALLOWED);
    expect(await useKey(uploader, 'Decrypt')).toEqual(ALLOWED);
  });

  test.each([
    'other/object',
    'pw-videos/prod/session-1/3-runner-1/video.webm',
    'pw-videos-dev/object',
    'pw-videos/devil/object',
    'pw-pages/prod/session-1/3-runner-1/pages/last.jpg',
  ])('does not write %s, whatever its role policy says', async key => {
    expect(await put(uploader, CREATE, key)).toEqual(refusedBy('UploaderStaysInItsPrefix'));
    expect(await put(mighty(uploader.role), CREATE, key)).toEqual(refusedBy('UploaderStaysInItsPrefix'));
  });

  test('does not overwrite: a write without If-None-Match is refused', async () => {
    expect(await put(uploader, without(CREATE, 's3:if-none-match'))).toEqual(refusedBy('RefuseOverwriting'));
  });

  test('does not write over plain HTTP, nor over TLS 1.1', async () => {
    expect(await put(uploader, { ...CREATE, 'aws:SecureTransport': 'false' })).toEqual(refusedBy('RefusePlainHttp'));
    expect(await put(uploader, { ...CREATE, 's3:TlsVersion': '1.1' })).toEqual(refusedBy('RefuseOldTls'));
  });

  test('does not write under another encryption than the bucket’s key', async () => {
    const other = `arn:aws:kms:${REGION}:${STRANGER}:key/theirs`;
    const naming = (headers: Context): Promise<Verdict> => put(uploader, { ...CREATE, ...headers });
    expect(await naming({ [SSE]: 'AES256' })).toEqual(refusedBy('RefuseOtherEncryption'));
    expect(await naming({ [SSE]: 'aws:kms:dsse', [SSE_KEY]: documents.keyArn })).toEqual(
      refusedBy('RefuseOtherEncryption'),
    );
    expect(await naming({ [SSE]: 'aws:kms', [SSE_KEY]: other })).toEqual(refusedBy('RefuseOtherKey'));
    expect(await naming({ [SSE]: 'aws:kms' })).toEqual(refusedBy('RefuseUnnamedKey'));
    expect(await naming({ 's3:x-amz-server-side-encryption-customer-algorithm': 'AES256' })).toEqual(
      refusedBy('RefuseCustomerKey'),
    );
    expect(await put(uploader, { ...STEP, [SSE]: 'AES256' })).toEqual(refusedBy('RefuseOtherEncryption'));
  });

  test.each([
    ['s3:GetObject', KEY],
    ['s3:GetObjectAttributes', KEY],
    ['s3:DeleteObject', KEY],
    ['s3:PutObjectAcl', KEY],
    ['s3:ListBucket', undefined],
    ['s3:ListBucketMultipartUploads', undefined],
    ['s3:DeleteBucket', undefined],
    ['s3:PutBucketPolicy', undefined],
  ])('may not %s, whatever its role policy says', async (action, key) => {
    const resource = key ? object(key) : arn.bucket(documents.bucket);
    expect((await ask(uploader, action, resource, TLS)).allowed).toBe(false);
    expect(await ask(mighty(uploader.role), action, resource, TLS)).toEqual(refusedBy('UploaderOnlyWrites'));
  });

  test('uses the key through S3 for this bucket only', async () => {
    expect(await useKey(uploader, 'Decrypt', without(throughS3(), 'kms:ViaService'))).toEqual(NOT_GRANTED);
    expect(await useKey(uploader, 'Decrypt', throughS3('another-bucket'))).toEqual(NOT_GRANTED);
    expect(await useKey(uploader, 'ScheduleKeyDeletion', { 'kms:CallerAccount': ACCOUNT })).toEqual(NOT_GRANTED);
  });
});

describe('[O15] administrators', () => {
  test('read and list recordings through their role', async () => {
    expect(await ask(reader, 's3:GetObject', object(), TLS)).toEqual(ALLOWED);
    expect(await useKey(reader, 'Decrypt')).toEqual(ALLOWED);
    const list = { ...TLS, 's3:prefix': 'pw-videos/dev/session-1/' };
    expect(await ask(reader, 's3:ListBucket', arn.bucket(documents.bucket), list)).toEqual(ALLOWED);
  });

  test('do not list the whole bucket, write or delete through it', async () => {
    expect(await ask(reader, 's3:ListBucket', arn.bucket(documents.bucket), TLS)).toEqual(NOT_GRANTED);
    expect(await ask(reader, 's3:ListBucket', arn.bucket(documents.bucket), { ...TLS, 's3:prefix': '' })).toEqual(
      NOT_GRANTED,
    );
    expect(await put(reader)).toEqual(NOT_GRANTED);
    expect(await ask(reader, 's3:DeleteObject', object(), TLS)).toEqual(NOT_GRANTED);
    expect(await useKey(reader, 'GenerateDataKey')).toEqual(NOT_GRANTED);
  });

  test('an administrator of the account cannot decrypt a recording without that role', async () => {
    expect(await useKey(accountAdmin, 'Decrypt')).toEqual(NOT_GRANTED);
    expect(await useKey(accountAdmin, 'Decrypt', without(throughS3(), 'kms:ViaService'))).toEqual(NOT_GRANTED);
    expect(await useKey(accountAdmin, 'PutKeyPolicy', { 'kms:CallerAccount': ACCOUNT })).toEqual(ALLOWED);
  });
});

describe('the controller', () => {
  test('keeps profiles, and no other identity does', async () => {
    const profile = 'profiles/0123';
    expect(await put(controller, CREATE, profile)).toEqual(ALLOWED);
    for (const action of ['s3:GetObject', 's3:DeleteObject']) {
      expect(await ask(controller, action, object(profile), TLS)).toEqual(ALLOWED);
      for (const other of [uploader, reader, accountAdmin])
        expect(await ask(other, action, object(profile), TLS)).toEqual(refusedBy('OnlyTheControllerKeepsProfiles'));
    }
    expect(
      await ask(controller, 's3:ListBucket', arn.bucket(documents.bucket), { ...TLS, 's3:prefix': 'profiles/' }),
    ).toEqual(NOT_GRANTED);
    expect(await useKey(controller, 'GenerateDataKey')).toEqual(ALLOWED);
  });

  test('writes the audit of its environment, which administrators read and no other identity writes', async () => {
    const file = 'audit/dev/000000000001-0123.jsonl';
    expect(await put(controller, CREATE, file)).toEqual(ALLOWED);
    expect(await put(controller, without(CREATE, 's3:if-none-match'), file)).toEqual(refusedBy('RefuseOverwriting'));
    expect(await put(controller, CREATE, 'audit/prod/000000000001-0123.jsonl')).toEqual(NOT_GRANTED);
    for (const action of ['s3:GetObject', 's3:DeleteObject'])
      expect(await ask(controller, action, object(file), TLS), action).toEqual(NOT_GRANTED);
    const list = { ...TLS, 's3:prefix': 'audit/dev/' };
    expect(await ask(controller, 's3:ListBucket', arn.bucket(documents.bucket), list)).toEqual(NOT_GRANTED);
    for (const other of [uploader, reader, accountAdmin])
      expect(await put(other, CREATE, file)).toEqual(refusedBy('OnlyTheControllerWritesAudit'));
    expect(await ask(reader, 's3:GetObject', object(file), TLS)).toEqual(ALLOWED);
    expect(await ask(reader, 's3:ListBucket', arn.bucket(documents.bucket), list)).toEqual(ALLOWED);
    expect(await ask(reader, 's3:DeleteObject', object(file), TLS)).toEqual(NOT_GRANTED);
    expect(await ask(uploader, 's3:GetObject', object(file), TLS)).toEqual(refusedBy('UploaderOnlyWrites'));
  });

  test('wraps the keys of users under a key of its own, naming the user', async () => {
    const wrap = async (who: Asker, context: Context) =>
      evaluate(
        {
          principal: session(who),
          action: 'kms:Encrypt',
          resource: documents.profilesKeyArn,
          account: ACCOUNT,
          context: { 'aws:PrincipalArn': who.role, 'aws:PrincipalAccount': who.account, ...context },
        },
        { identity: who.identity(), resource: documents.profilesKeyPolicy },
      );
    const user = { 'kms:EncryptionContext:user_id': 'ada' };
    expect(await wrap(controller, user)).toEqual(ALLOWED);
    expect(await wrap(controller, {})).toEqual(NOT_GRANTED);
    for (const other of [uploader, reader, accountAdmin]) expect(await wrap(other, user)).toEqual(NOT_GRANTED);
  });

  test('lists its prefixes, and reads the lifecycle, files and pages of sessions, but no video', async () => {
    const list = { ...TLS, 's3:prefix': 'pw-videos/dev/' };
    expect(await ask(controller, 's3:ListBucket', arn.bucket(documents.bucket), list)).toEqual(ALLOWED);
    expect(await ask(controller, 's3:ListBucket', arn.bucket(documents.bucket), TLS)).toEqual(NOT_GRANTED);
    expect(await ask(controller, 's3:GetObject', object(), TLS)).toEqual(NOT_GRANTED);
    expect(await ask(controller, 's3:GetLifecycleConfiguration', arn.bucket(documents.bucket), TLS)).toEqual(ALLOWED);
    const folder = KEY.slice(0, KEY.lastIndexOf('/'));
    for (const source of ['uploads', 'downloads'])
      expect(await ask(controller, 's3:GetObject', object(`${folder}/${source}/report.pdf`), TLS)).toEqual(ALLOWED);
    expect(await ask(controller, 's3:GetObject', object(PAGE), TLS)).toEqual(ALLOWED);
    for (const other of [`${folder}/tab-001.webm`, 'pw-videos/prod/s/1-r/uploads/a.txt'])
      expect(await ask(controller, 's3:GetObject', object(other), TLS), other).toEqual(NOT_GRANTED);
    for (const own of [object(), object(PAGE)])
      expect(await ask(controller, 's3:DeleteObject', own, TLS)).toEqual(ALLOWED);
    expect(await ask(controller, 's3:DeleteObject', object('pw-videos/prod/s/1-r/a.webm'), TLS)).toEqual(NOT_GRANTED);
    expect(await put(controller)).toEqual(NOT_GRANTED);
    expect(await useKey(controller, 'Decrypt')).toEqual(ALLOWED);
    expect(await useKey(controller, 'Decrypt', without(throughS3(), 'kms:ViaService'))).toEqual(NOT_GRANTED);
  });
});

test('a controller that replays videos reads those of its environment, and writes none', async () => {
  documents = await stackDocuments({ replay: true });
  for (const key of [KEY, PAGE, artifactKey(PREFIX, 'downloads/report.pdf')])
    expect(await ask(controller, 's3:GetObject', object(key), TLS), key).toEqual(ALLOWED);
  expect(await ask(controller, 's3:GetObject', object('pw-videos/prod/s/1-r/tab-001.webm'), TLS)).toEqual(NOT_GRANTED);
  expect(await put(controller)).toEqual(NOT_GRANTED);
  documents = await stackDocuments();
});

describe('another account', () => {
  test.each(['s3:GetObject', 's3:PutObject', 's3:DeleteObject'])(
    'may not %s, even with every right of its own',
    async action => {
      const context = action === 's3:PutObject' ? CREATE : TLS;
      expect(await ask(stranger, action, object(), context)).toEqual(refusedBy('RefuseOtherAccounts'));
    },
  );

  test('may not use the key, not through S3 either', async () => {
    expect(await useKey(stranger, 'Decrypt', { ...throughS3(), 'kms:CallerAccount': STRANGER })).toEqual(NOT_GRANTED);
    expect(await useKey(stranger, 'GenerateDataKey')).toEqual(NOT_GRANTED);
  });
});

test('[O14] an unsigned request gets nothing: not a recording, not the list', async () => {
  const anonymously = (action: string, resource: string): Promise<Verdict> =>
    evaluate(
      { principal: 'anonymous', action, resource, account: ACCOUNT, context: TLS },
      { identity: [], resource: documents.bucketPolicy },
    );
  expect(await anonymously('s3:GetObject', object())).toEqual(refusedBy('RefuseOtherAccounts'));
  expect(await anonymously('s3:ListBucket', arn.bucket(documents.bucket))).toEqual(refusedBy('RefuseOtherAccounts'));
});
