import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { z } from 'zod';
import { REFUSAL_HEADER } from '../../contract/egress.ts';
import { type ArtifactReport, UPLOAD_ORDER_FILE, type UploadOrder } from '../../contract/reports.ts';
import { worthRetrying } from '../reporting/controller-client.ts';
import type { Bucket } from './bucket.ts';
import { advance, type FileUpload, giveUp } from './file-upload.ts';
import { readOrder } from './order.ts';
import { openState, type UploadState } from './state.ts';
import { NO_PICTURE } from './upload.ts';

export interface SidecarOptions {
  readonly outputDir: string;
  /** An order for another runner is refused: the browser's container writes it. */
  readonly runnerId: string;
  /** The store, under the credentials of the order. */
  readonly bucketFor: (order: UploadOrder) => Promise<Bucket>;
  /** Tells the controller; idempotent by name. */
  readonly reporter: (artifactToken: string, report: ArtifactReport, signal: AbortSignal) => Promise<void>;
  /** Aborts when the browser's container has ended (SIGTERM): files are final from then on. */
  readonly ending: AbortSignal;
  /** From then on recordings may be sent for so long; what is left is a recorded loss. */
  readonly graceMs: number;
  readonly log: Logger;
}

/** Between two looks at the folder. A part fills in half a minute. */
const LOOK_MS = 1_000;
/** Between two tries while the bucket, STS, the proxy or the controller is away. */
const RETRY_MS_MAX = 5_000;
/** What reporting losses and giving uploads up may take after the grace. */
const LAST_WORDS_MS = 8_000;

/**
 * The life of the sidecar: waits for an order, sends recordings while they grow, ends them when the browser is gone. A second
 * process on the same folder goes on where the first one stopped. Answers the exit code: 0 when nothing is left to say.
 */
export async function followRecordings(options: SidecarOptions): Promise<number> {
  const { outputDir, ending, graceMs, log } = options;
  const order = await awaitOrder(options);
  if (order === undefined) return 0;
  const state = await openState(outputDir);
  const deadline = new AbortController();
  onAbort(ending, () => setTimeout(() => deadline.abort(), graceMs).unref());
  const work: Work = { ...options, order, state, bucket: await options.bucketFor(order), signal: deadline.signal };
  log.info({ session_id: order.session_id, epoch: order.epoch }, 'recording is followed');

  let failures = 0;
  let causes = new Map<string, unknown>();
  for (;;) {
    const final = ending.aborted;
    causes = await round(work, final, causes);
    if (final && (causes.size === 0 || deadline.signal.aborted)) break;
    failures = causes.size === 0 ? 0 : failures + 1;
    const waitMs = failures === 0 ? LOOK_MS : Math.min(RETRY_MS_MAX, 200 * 2 ** failures) * (0.5 + Math.random() / 2);
    await pause(waitMs, final ? deadline.signal : ending);
  }
  const told = await lastWords({ ...work, signal: AbortSignal.timeout(LAST_WORDS_MS) }, causes);
  // Both hold what only this uploader may use; files that could not be sent go with the pod.
  await rm(join(outputDir, UPLOAD_ORDER_FILE), { force: true });
  await state.remove();
  return told ? 0 : 1;
}

type Work = Omit<SidecarOptions, 'bucketFor'> & {
  readonly order: UploadOrder;
  readonly state: UploadState;
  readonly bucket: Bucket;
  readonly signal: AbortSignal;
};

/** Undefined: the end came before an order, so nothing was recorded. */
async function awaitOrder({ outputDir, runnerId, ending, log }: SidecarOptions): Promise<UploadOrder | undefined> {
  log.info('waiting for an upload order');
  let said: unknown;
  for (;;) {
    const last = ending.aborted;
    try {
      const order = await readOrder(outputDir);
      if (order !== undefined) return checked(order, runnerId);
    } catch (error) {
      if (last) throw error;
      if (String(error) !== String(said)) log.error({ err: error }, 'the upload order cannot be read');
      said = error;
    }
    if (last) return undefined;
    await pause(LOOK_MS, ending);
  }
}

/** Keys carry the runner's id, so that whoever breaks a browser writes under its own runner's prefix at most. */
function checked(order: UploadOrder, runnerId: string): UploadOrder {
  const { runner_id, session_id, epoch, artifacts_prefix } = order;
  if (runner_id === runnerId && artifacts_prefix.endsWith(`/${session_id}/${epoch}-${runnerId}/`)) return order;
  throw new Error('the upload order is not for this runner');
}

/** Brings every file as far as it goes; answers what failed, by file. What the deadline cut off failed for the cause before it. */
async function round(work: Work, final: boolean, earlier: ReadonlyMap<string, unknown>): Promise<Map<string, unknown>> {
  const { order, state, log } = work;
  const causes = new Map<string, unknown>();
  for (const name of await recordings(work)) {
    if (work.signal.aborted && causes.size > 0) {
      causes.set(name, earlier.get(name) ?? 'its turn did not come');
      continue;
    }
    try {
      await bring(work, name, final);
    } catch (error) {
      causes.set(name, work.signal.aborted ? (earlier.get(name) ?? error) : error);
      log.warn(
        { session_id: order.session_id, name, cause: causeOf(error) },
        'a recording is not sent yet; trying again',
      );
    }
  }
  // No file at all, at the end, is a loss too.
  if (final && state.all.size === 0 && order.record_video)
    await tell(work, NO_PICTURE).then(
      () => (state.of(NO_PICTURE.name).told = true),
      error => causes.set(NO_PICTURE.name, error),
    );
  return causes;
}

async function bring(work: Work, name: string, final: boolean): Promise<void> {
  const file = fileOf(work, name);
  const progress = await advance(file, final);
  if (progress.at === 'growing') return;
  await conclude(
    work,
    name,
    progress.at === 'lost'
      ? { state: 'lost', name, reason: progress.reason }
      : { state: 'stored', name, uri: work.bucket.uri(file.key), bytes: progress.bytes },
  );
}

/** Told first, deleted then: a restart in between tells again, which is harmless. */
async function conclude(work: Work, name: string, report: ArtifactReport): Promise<void> {
  await tell(work, report);
  work.state.of(name).told = true;
  await work.state.save();
  await rm(join(work.outputDir, name), { force: true });
  work.log.info({ session_id: work.order.session_id, name, outcome: report.state }, 'recording');
}

/** A refused report (the session is long gone) does not keep the file: it was stored. */
async function tell({ reporter, order, signal, log }: Work, report: ArtifactReport): Promise<void> {
  try {
    await reporter(order.artifact_token, report, signal);
  } catch (error) {
    if (worthRetrying(error)) throw error;
    log.error({ session_id: order.session_id, name: report.name, err: error }, 'the controller refused the report');
  }
}

/** The grace is over: what was not sent is lost, with the reason; what was stored is told if it was not. True: all is said. */
async function lastWords(work: Work, causes: ReadonlyMap<string, unknown>): Promise<boolean> {
  let told = true;
  for (const [name, cause] of causes) {
    const file = fileOf(work, name);
    const { storedBytes } = file.state;
    const report: ArtifactReport =
      name === NO_PICTURE.name
        ? NO_PICTURE
        : storedBytes === undefined
          ? { state: 'lost', name, reason: reasonOf(cause, work.graceMs) }
          : { state: 'stored', name, uri: work.bucket.uri(file.key), bytes: storedBytes };
    try {
      await tell(work, report);
    } catch (error) {
      told = false;
      work.log.error({ session_id: work.order.session_id, ...report, err: error }, 'nobody could be told');
    }
    // Else the bucket's lifecycle forgets the parts after a day.
    await giveUp(file).catch(error => work.log.warn({ name, err: error }, 'the upload could not be given up'));
  }
  return told;
}

const fileOf = ({ outputDir, order, bucket, state, signal }: Work, name: string): FileUpload => ({
  path: join(outputDir, name),
  key: `${order.artifacts_prefix}${name}`,
  bucket,
  state: state.of(name),
  save: state.save,
  signal,
});

async function recordings({ outputDir, state }: Work): Promise<string[]> {
  const entries = await readdir(outputDir, { withFileTypes: true });
  return entries
    .filter(entry => entry.isFile() && /^[A-Za-z0-9_-]{1,100}\.webm$/.test(entry.name))
    .map(({ name }) => name)
    .filter(name => state.all.get(name)?.told !== true)
    .sort();
}

const reasonOf = (cause: unknown, graceMs: number): string =>
  `the recording could not be sent within ${Math.round(graceMs / 1000)} s of the browser's end (${causeOf(cause)})`;

const answered = z.object({
  $response: z.object({ statusCode: z.number(), headers: z.record(z.string(), z.string()).optional() }),
});

/** Short, in characters that every database takes, with the status and the egress proxy's own word where there was an answer. */
function causeOf(cause: unknown): string {
  const text = cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause);
  const { data } = answered.safeParse(cause);
  const refusal = data?.$response.headers?.[REFUSAL_HEADER];
  const status = data === undefined ? '' : `status ${data.$response.statusCode}${refusal ? ` ${refusal}` : ''}, `;
  return `${status}${text.replaceAll(/[^\x20-\x7e]+/g, ' ').slice(0, 200)}`;
}

const pause = (ms: number, until: AbortSignal): Promise<unknown> =>
  delay(ms, undefined, { signal: until }).catch(() => undefined);

function onAbort(signal: AbortSignal, act: () => void): void {
  if (signal.aborted) act();
  else signal.addEventListener('abort', act, { once: true });
}
