import { PROFILE_PREFIX } from '../../contract/names.ts';
import { type Document, iamDocument, type Statement } from './document.ts';
import { ADMINISTER, ENCRYPT, type Recordings, throughBucket } from './recordings.ts';

export const profileObjects = (bucketArn: string): string => `${bucketArn}/${PROFILE_PREFIX}/*`;

/** What the controller's role may do with the encrypted objects of profiles. No List: their names are in the database. */
export const keepProfiles = (recordings: Recordings): Statement[] => [
  {
    Sid: 'KeepProfiles',
    Effect: 'Allow',
    Action: ['s3:GetObject', 's3:PutObject', 's3:DeleteObject'],
    Resource: [profileObjects(recordings.bucketArn)],
  },
  {
    Sid: 'EncryptProfiles',
    Effect: 'Allow',
    Action: ENCRYPT,
    Resource: [recordings.keyArn],
    Condition: throughBucket(recordings),
  },
];

/** The controller may use the key, and each use names the user whose key it wraps; the account may administer it. */
export function profilesKeyPolicy(args: { accountId: string; controllerRoleArn: string }): Document {
  const everywhere = { Resource: ['*'] } as const; // in a key policy: this key
  return iamDocument(
    {
      Sid: 'AccountAdministers',
      Effect: 'Allow',
      Principal: { AWS: `arn:aws:iam::${args.accountId}:root` },
      Action: ADMINISTER,
      ...everywhere,
    },
    {
      Sid: 'ControllerWrapsKeysOfUsers',
      Effect: 'Allow',
      Principal: { AWS: args.controllerRoleArn },
      Action: ['kms:Encrypt', 'kms:Decrypt'],
      ...everywhere,
      Condition: { Null: { 'kms:EncryptionContext:user_id': 'false' } },
    },
  );
}
