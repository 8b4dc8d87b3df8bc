import { mkdir, open, rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { Assignment } from '../../contract/assignment.ts';
import { UPLOAD_ORDER_FILE, type UploadOrder } from '../../contract/reports.ts';
import type { Redeemed } from './redeem.ts';

/** The part of a lease that its uploader needs. */
export const uploadOrderOf = (assignment: Assignment, { artifactToken, uploadCredential }: Redeemed): UploadOrder => ({
  session_id: assignment.session_id,
  epoch: assignment.epoch,
  runner_id: assignment.runner_id,
  record_video: assignment.options.record_video,
  artifacts_prefix: assignment.artifacts_prefix,
  artifact_token: artifactToken,
  ...(uploadCredential === undefined ? {} : { upload_credential: uploadCredential }),
});

/** Writes what a lease's uploader needs to disk, at its first call. Atomic and for its owner only: it holds the artifact token. */
export function uploadOrderWriter(outputDir: string, order: UploadOrder): () => Promise<void> {
  let written: Promise<void> | undefined;
  return () => {
    written ??= writeOrder(outputDir, order);
    return written;
  };
}

async function writeOrder(outputDir: string, order: UploadOrder): Promise<void> {
  await mkdir(outputDir, { recursive: true });
  const path = join(outputDir, UPLOAD_ORDER_FILE);
  const file = await open(`${path}.tmp`, 'w', 0o600);
  try {
    await file.writeFile(JSON.stringify(order));
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(`${path}.tmp`, path);
}
