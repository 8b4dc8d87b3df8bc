import { join } from 'node:path';
import { OmicronError } from '../../contract/problem.ts';
import { UPLOAD_ORDER_FILE, type UploadOrder, uploadOrder } from '../../contract/reports.ts';
import { openPlain } from '../files/plain-file.ts';

/**
 * Reads what the runner left for its uploader; undefined while there is nothing. Throws when it is not an order,
 * without quoting it.
 */
export async function readOrder(outputDir: string): Promise<UploadOrder | undefined> {
  let text: string;
  try {
    const file = await openPlain(join(outputDir, UPLOAD_ORDER_FILE));
    text = await file.readFile('utf8').finally(() => file.close());
  } catch (error) {
    if (error instanceof OmicronError && Object(error.cause).code === 'ENOENT') return undefined;
    throw error;
  }
  try {
    return uploadOrder.parse(JSON.parse(text));
  } catch {
    throw new Error(`${UPLOAD_ORDER_FILE} is not an upload order; runner and uploader must have the same version`);
  }
}
