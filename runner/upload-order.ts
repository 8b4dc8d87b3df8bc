import { mkdir, open, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { UPLOAD_ORDER_FILE, type UploadOrder } from '../contract/reports.ts';

/** What a lease's uploader needs, written to disk by the first call. Atomic and for its owner only: it holds the artifact token. */
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
