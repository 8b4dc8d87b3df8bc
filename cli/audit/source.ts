import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { auditPrefix } from '../../contract/audit.ts';
import { ENV } from '../../contract/names.ts';
import type { Cli } from '../connect.ts';
import { UsageError } from '../exit.ts';
import type { AuditSource } from './verify.ts';

const EXAMPLE = `s3://<bucket>/${auditPrefix('<environment>')}`;

/** The files of a folder, or of `s3://<bucket>/audit/<environment>/`. Throws UsageError for what is neither. */
export async function openAuditSource(from: string, environment: Cli['environment']): Promise<AuditSource> {
  if (/^[a-z][a-z0-9+.-]+:/i.test(from)) return openBucket(from, environment);
  const names = await readdir(from).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR')
      throw new UsageError(`${from} is no folder: give the folder of the files, or ${EXAMPLE}.`);
    throw error;
  });
  return { names: async () => names, read: name => readFile(join(from, name)) };
}

async function openBucket(from: string, environment: Cli['environment']): Promise<AuditSource> {
  const [, bucket, prefix] = /^s3:\/\/([a-z0-9][a-z0-9.-]+)\/(.+?)\/?$/.exec(from) ?? [];
  if (bucket === undefined || prefix === undefined)
    throw new UsageError(`${from} names no audit files: give a folder, or ${EXAMPLE}.`);
  const region = environment[ENV.awsRegion];
  if (!region) throw new UsageError(`${ENV.awsRegion} is not set: set it to the region of the bucket ${bucket}.`);
  const { readBucket } = await import('../../controller/audit/read-bucket.ts').catch((cause: NodeJS.ErrnoException) => {
    if (cause.code !== 'ERR_MODULE_NOT_FOUND') throw cause;
    throw new UsageError(
      `s3:// needs the package @aws-sdk/client-s3: install it beside this command, or copy the files with "aws s3 sync ${from} FOLDER" and verify the folder.`,
    );
  });
  return readBucket({ bucket, prefix: `${prefix}/`, region, endpoint: environment[ENV.awsS3Endpoint] });
}
