import { AUDIT_PREFIX, FILE_FOLDERS, PAGE_PREFIX, VIDEO_PREFIX } from '../../contract/names.ts';
import { type Document, iamDocument, type Statement } from './document.ts';
import { keepProfiles } from './profiles.ts';
import { listRecordings, type Recordings, readRecordings } from './recordings.ts';

/**
 * The controller's role: checks what the bucket keeps and for how long (O21), reads the files of sessions (B1) and their pages (A14), removes what
 * is kept of a user that is erased, keeps profiles, and writes the audit. It cannot read a video, no name of which has a folder, unless the deployment replays them (docs/adr/0072). The key of
 * profiles' objects is that of the files.
 */
export const controllerPolicy = (recordings: Recordings): Document =>
  iamDocument(
    listRecordings(recordings),
    {
      Sid: 'ReadLifecycle',
      Effect: 'Allow',
      Action: ['s3:GetLifecycleConfiguration'],
      Resource: [recordings.bucketArn],
    },
    eraseUsers(recordings),
    recordings.replay ? readRecordings(recordings) : readFiles(recordings),
    writeAudit(recordings),
    ...keepProfiles(recordings),
  );

/** A user is erased when that is asked for; whatever is only old goes by the bucket's lifecycle. */
const eraseUsers = ({ bucketArn, env }: Recordings): Statement => ({
  Sid: 'EraseUsers',
  Effect: 'Allow',
  Action: ['s3:DeleteObject'],
  Resource: [VIDEO_PREFIX, PAGE_PREFIX].map(prefix => `${bucketArn}/${prefix}/${env}/*`),
});

/** It writes the files of the audit, and neither reads nor removes one. */
const writeAudit = ({ bucketArn, env }: Recordings): Statement => ({
  Sid: 'WriteAudit',
  Effect: 'Allow',
  Action: ['s3:PutObject'],
  Resource: [`${bucketArn}/${AUDIT_PREFIX}/${env}/*`],
});

const readFiles = (recordings: Recordings): Statement => ({
  Sid: 'ReadFiles',
  Effect: 'Allow',
  Action: ['s3:GetObject'],
  Resource: [
    ...Object.values(FILE_FOLDERS).map(folder => `${VIDEO_PREFIX}/${recordings.env}/*/${folder}/*`),
    `${PAGE_PREFIX}/${recordings.env}/*`,
  ].map(keys => `${recordings.bucketArn}/${keys}`),
});
