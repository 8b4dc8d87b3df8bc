import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { type ArtifactReport, UPLOAD_ORDER_FILE, type UploadOrder } from '../../contract/reports.ts';
import { RETRY, waitBackoff } from '../../http/backoff.ts';
import { worthRetrying } from '../reporting/controller-client.ts';
import { readOrder } from './order.ts';
import { flawOf, settledBytes } from './recording-file.ts';
import type { ArtifactStore } from './store.ts';

export interface UploadOptions {
  readonly outputDir: string;
  readonly store: ArtifactStore;
  /** Tells the controller; idempotent by name. */
  readonly reporter: (artifactToken: string, report: ArtifactReport, signal: AbortSignal) => Promise<void>;
  /** Past this, what is left stays on disk for the next run. */
  readonly signal: AbortSignal;
  readonly log: Logger;
}

export interface UploadResult {
  readonly stored: number;
  readonly lost: number;
  /** Files that stay: the store or the controller could not be reached in time. Run again. */
  readonly left: number;
}

/** What is reported of a lease that should have been recorded and left no file. */
export const NO_PICTURE = {
  state: 'lost',
  name: 'recording',
  reason: 'the runner ended before its first picture',
} as const satisfies ArtifactReport;

/**
 * Sends what a dead runner left: each file is stored, reported, then deleted; at last the order itself. May be repeated
 * at any point. No order: nothing was recorded, or everything was sent.
 */
export async function uploadRecordings(options: UploadOptions): Promise<UploadResult> {
  const { outputDir, log } = options;
  const order = await readOrder(outputDir);
  const result = { stored: 0, lost: 0, left: 0 };
  if (order === undefined) return result;
  const names = (await readdir(outputDir)).filter(name => name.endsWith('.webm')).sort();
  if (names.length === 0 && order.record_video) {
    result[(await told(options, order, NO_PICTURE)) ? 'lost' : 'left'] += 1;
  }
  for (const name of names) {
    const outcome = await uploadOne(options, order, name);
    result[outcome] += 1;
    log.info({ session_id: order.session_id, name, outcome }, 'recording');
  }
  if (result.left === 0) await rm(join(outputDir, UPLOAD_ORDER_FILE));
  return result;
}

async function uploadOne(
  options: UploadOptions,
  order: UploadOrder,
  name: string,
): Promise<'stored' | 'lost' | 'left'> {
  const path = join(options.outputDir, name);
  const bytes = await settledBytes(path, options.signal);
  const flaw = await flawOf(path, bytes);
  if (flaw !== undefined) {
    if (!(await told(options, order, { state: 'lost', name, reason: flaw }))) return 'left';
    await rm(path);
    return 'lost';
  }
  const uri = await untilDone(options, () => options.store.put(path, `${order.artifacts_prefix}${name}`));
  if (uri === undefined) return 'left';
  if (!(await told(options, order, { state: 'stored', name, uri, bytes }))) return 'left';
  await rm(path);
  return 'stored';
}

/** A refused report (the session is long gone) does not keep the file: it was stored. */
async function told(
  { reporter, signal, log }: UploadOptions,
  order: UploadOrder,
  report: ArtifactReport,
): Promise<boolean> {
  for (let n = 0; ; n += 1) {
    try {
      await reporter(order.artifact_token, report, signal);
      return true;
    } catch (error) {
      if (signal.aborted) return false;
      if (!worthRetrying(error)) {
        log.error({ session_id: order.session_id, name: report.name, err: error }, 'the controller refused the report');
        return true;
      }
    }
    await waitBackoff(n, RETRY, signal).catch(() => undefined);
  }
}

async function untilDone<T>({ signal, log }: UploadOptions, work: () => Promise<T>): Promise<T | undefined> {
  for (let n = 0; !signal.aborted; n += 1) {
    try {
      return await work();
    } catch (error) {
      log.warn({ err: error }, 'the artifact store failed; trying again');
      await waitBackoff(n, RETRY, signal).catch(() => undefined);
    }
  }
  return undefined;
}
