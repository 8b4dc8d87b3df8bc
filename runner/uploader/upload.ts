import { lstat, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import * as z from 'zod';
import { artifactKey, kindOfArtifact } from '../../contract/artifact-name.ts';
import { REFUSAL_HEADER } from '../../contract/egress.ts';
import { FILE_FOLDERS } from '../../contract/names.ts';
import { LAST_PAGE, PAGE_FOLDER } from '../../contract/page-names.ts';
import { type ArtifactReport, UPLOAD_ORDER_FILE, type UploadOrder } from '../../contract/reports.ts';
import { backoffMs } from '../../time/backoff.ts';
import type { Clock } from '../../time/clock.ts';
import { worthRetrying } from '../reporting/controller-client.ts';
import { readOrder } from './order.ts';
import { flawOf, isEnded, settledBytes } from './recording-file.ts';
import type { RecordingStore, RecordingUpload } from './recording-store.ts';
import { repairVideo } from './repair-video.ts';
import { openState, type UploadState } from './state.ts';

export interface UploadOptions {
  readonly outputDir: string;
  /** An order for another runner is refused: the browser's container writes it. Undefined: any order is accepted. */
  readonly runnerId: string | undefined;
  /** The store, under the credentials of the order. */
  readonly storeFor: (order: UploadOrder) => Promise<RecordingStore>;
  /** Reports to the controller; idempotent by name. */
  readonly reporter: (artifactToken: string, report: ArtifactReport, signal: AbortSignal) => Promise<void>;
  /**
   * Aborts when nothing writes to the folder any more; for the folder of a dead runner it is aborted from the start.
   */
  readonly final: AbortSignal;
  /** How long after `final` recordings may be sent. */
  readonly graceMs: number;
  /** A file that is not sent by then stays for another run, or is reported as lost and goes with the folder. */
  readonly afterGrace: 'keep' | 'lose';
  readonly clock: Clock;
  readonly log: Logger;
}

export interface UploadResult {
  readonly stored: number;
  readonly lost: number;
  /** Recordings that are not reported yet. */
  readonly left: number;
}

/** The report of a lease that should have been recorded and left no file. */
const NOTHING_RECORDED = {
  state: 'lost',
  name: 'recording',
  reason: 'the runner ended before its first picture',
} as const satisfies ArtifactReport;

/** Between two looks at the folder. A part fills in half a minute. */
const LOOK_MS = 1_000;
/** Between two attempts while the store, STS, the proxy or the controller cannot be reached. */
const RETRY = { firstMs: 400, maxMs: 5_000, jitter: 0.5 };
/** Time for reporting losses and giving uploads up after the grace. */
const LOSSES_MS = 8_000;

interface Work extends Omit<UploadOptions, 'storeFor'> {
  readonly order: UploadOrder;
  readonly state: UploadState;
  readonly store: RecordingStore;
  /** Aborts when the grace is over. */
  readonly signal: AbortSignal;
  readonly done: { stored: number; lost: number };
}

/** The last failure, by name of the file. */
type Failures = ReadonlyMap<string, unknown>;

/**
 * The life of an uploader: waits for an order, sends recordings while they grow, ends them when they are final; files of
 * the session and pictures of calls are final once they are there, the last page when the lease has ended. Each is stored and
 * reported, what no lease reads then deleted; at last the order itself.
 * Another process on the same folder resumes where one stopped.
 */
export async function uploadRecordings(options: UploadOptions): Promise<UploadResult> {
  const { outputDir, final, graceMs, clock, log } = options;
  const done = { stored: 0, lost: 0 };
  const order = await awaitOrder(options);
  if (order === undefined) return { ...done, left: 0 };
  const state = await openState(outputDir);
  const grace = new AbortController();
  onAbort(final, () => void clock.sleep(graceMs, NEVER, true).then(() => grace.abort()));
  const store = await options.storeFor(order);
  const work: Work = { ...options, order, state, store, signal: grace.signal, done };
  log.info({ session_id: order.session_id, epoch: order.epoch }, 'uploading recordings');

  const failures = await sendUntilDone(work);
  if (failures.size > 0 && options.afterGrace === 'keep') return { ...done, left: failures.size };
  const left = await reportLosses({ ...work, signal: AbortSignal.timeout(LOSSES_MS) }, failures);
  // Both hold what only this uploader may use.
  await rm(join(outputDir, UPLOAD_ORDER_FILE), { force: true });
  await state.remove();
  return { ...done, left };
}

/** Undefined: the folder was final before there was an order, so nothing was recorded or all was sent. */
async function awaitOrder(options: UploadOptions): Promise<UploadOrder | undefined> {
  const { outputDir, runnerId, final, clock, log } = options;
  if (!final.aborted) log.info('waiting for an upload order');
  let logged: unknown;
  for (;;) {
    const last = final.aborted;
    try {
      const order = await readOrder(outputDir);
      if (order !== undefined) return checkOrder(order, runnerId);
    } catch (error) {
      if (last) throw error;
      if (String(error) !== String(logged)) log.error({ err: error }, 'upload order unreadable');
      logged = error;
    }
    if (last) return undefined;
    await clock.sleep(LOOK_MS, final).catch(() => undefined);
  }
}

/** Keys carry the runner's id, so that a compromised browser writes under its own runner's prefix at most. */
function checkOrder(order: UploadOrder, runnerId: string | undefined): UploadOrder {
  const { runner_id, session_id, epoch, artifacts_prefix } = order;
  if (runnerId === undefined) return order;
  if (runner_id === runnerId && artifacts_prefix.endsWith(`/${session_id}/${epoch}-${runnerId}/`)) return order;
  throw new Error('the upload order is not for this runner');
}

/** Goes over the folder again and again, until it is final and everything was sent, or the grace is over. */
async function sendUntilDone(work: Work): Promise<Failures> {
  const { final, signal, clock } = work;
  let failures: Failures = new Map();
  for (let attempt = 0; ; ) {
    const last = final.aborted;
    failures = await sendAll(work, last, failures);
    if (last && (failures.size === 0 || signal.aborted)) return failures;
    attempt = failures.size === 0 ? 0 : attempt + 1;
    const waitMs = attempt === 0 ? LOOK_MS : backoffMs(attempt - 1, RETRY, () => clock.random());
    await clock.sleep(waitMs, last ? signal : final).catch(() => undefined);
  }
}

/** Brings every file as far as it goes. An upload that the deadline cut off keeps its earlier cause. */
async function sendAll(work: Work, final: boolean, earlier: Failures): Promise<Failures> {
  const { order, state, signal, log } = work;
  const failures = new Map<string, unknown>();
  for (const name of await listRecordings(work, final)) {
    if (signal.aborted && failures.size > 0) {
      failures.set(name, earlier.get(name) ?? 'not attempted before the deadline');
      continue;
    }
    try {
      await upload(work, name, final);
    } catch (error) {
      failures.set(name, signal.aborted ? (earlier.get(name) ?? error) : error);
      log.warn({ session_id: order.session_id, name, cause: causeOf(error) }, 'upload failed; retrying');
    }
  }
  // No video at all, at the end, is a loss too.
  const sent = [...state.all.keys()].some(name => kindOfArtifact(name) === 'video');
  if (final && !sent && order.record_video)
    await finish(work, NOTHING_RECORDED).catch(error => failures.set(NOTHING_RECORDED.name, error));
  return failures;
}

async function upload(work: Work, name: string, final: boolean): Promise<void> {
  const { store, state } = work;
  const file = fileOf(work, name);
  const { size } = await lstat(file.path);
  const isVideo = kindOfArtifact(name) === 'video';
  if (file.state.storedBytes === undefined && isVideo && !final && !(await isEnded(file.path, size)))
    return store.advance(file, size);
  if (file.state.storedBytes === undefined) {
    const { bytes, flaw } = isVideo ? await endedVideo(file) : { bytes: size };
    if (flaw !== undefined) await store.giveUp(file);
    const stored = flaw === undefined ? await store.finish(file, bytes) : undefined;
    const taken = `another object has the key ${file.key}; nothing is overwritten`;
    if (typeof stored !== 'number') return finish(work, { state: 'lost', name, reason: flaw ?? taken });
    file.state.storedBytes = stored;
    await state.save();
  }
  await finish(work, { state: 'stored', name, uri: store.uri(file.key), bytes: file.state.storedBytes });
}

/** The size of a video that nothing writes to any more, its head repaired; or why it is none. */
async function endedVideo({ path, signal }: RecordingUpload): Promise<{ bytes: number; flaw?: string }> {
  const bytes = await settledBytes(path, signal);
  const flaw = await flawOf(path, bytes);
  if (flaw !== undefined) return { bytes, flaw };
  if (!(await isEnded(path, bytes))) await repairVideo(path, bytes);
  return { bytes };
}

/** Reported first, deleted then: a restart in between reports again, which is harmless. */
async function finish(work: Work, outcome: ArtifactReport): Promise<void> {
  const { state, outputDir, order, log, done } = work;
  const { name } = outcome;
  await report(work, outcome);
  state.of(name).reported = true;
  await state.save();
  // A lease reads its files until it ends; they go with the folder.
  if (kindOfArtifact(name) !== 'file') await rm(join(outputDir, name), { force: true });
  done[outcome.state] += 1;
  log.info({ session_id: order.session_id, name, outcome: outcome.state }, 'recording finished');
}

/** A refused report (the session has long been deleted) does not keep the file: it was stored. */
async function report({ reporter, order, signal, log }: Work, outcome: ArtifactReport): Promise<void> {
  try {
    await reporter(order.artifact_token, outcome, signal);
  } catch (error) {
    if (signal.aborted || worthRetrying(error)) throw error;
    log.error({ session_id: order.session_id, name: outcome.name, err: error }, 'report refused');
  }
}

/**
 * The grace is over: what was not sent is lost, with the reason; what was stored is reported if it was not. Resolves
 * with the number of recordings that could not be reported.
 */
async function reportLosses(work: Work, failures: Failures): Promise<number> {
  const { store, graceMs, order, log, done } = work;
  let left = 0;
  for (const [name, cause] of failures) {
    const file = fileOf(work, name);
    const outcome = outcomeOf(store, file, name, cause, graceMs);
    try {
      await report(work, outcome);
      done[outcome.state] += 1;
    } catch (error) {
      left += 1;
      log.error({ session_id: order.session_id, ...outcome, err: error }, 'the loss could not be reported');
    }
    // Else the bucket's lifecycle removes the parts after a day.
    await store.giveUp(file).catch(error => log.warn({ name, err: error }, 'upload not aborted'));
  }
  return left;
}

function outcomeOf(
  store: RecordingStore,
  { state, key }: RecordingUpload,
  name: string,
  cause: unknown,
  graceMs: number,
): ArtifactReport {
  if (name === NOTHING_RECORDED.name) return NOTHING_RECORDED;
  if (state.storedBytes !== undefined) return { state: 'stored', name, uri: store.uri(key), bytes: state.storedBytes };
  const seconds = Math.round(graceMs / 1_000);
  const reason = `the recording could not be sent within ${seconds} s of the browser's end (${causeOf(cause)})`;
  return { state: 'lost', name, reason };
}

const fileOf = ({ outputDir, order, state, signal }: Work, name: string): RecordingUpload => ({
  path: join(outputDir, name),
  key: artifactKey(order.artifacts_prefix, name),
  state: state.of(name),
  save: state.save,
  signal,
});

/** Files that are not reported yet. Until all is final the last page may be another one. */
async function listRecordings({ outputDir, state }: Work, final: boolean): Promise<string[]> {
  const entries = await readdir(outputDir, { withFileTypes: true });
  const videos = entries
    .filter(entry => entry.isFile() && /^[A-Za-z0-9_-]{1,100}\.webm$/.test(entry.name))
    .map(({ name }) => name);
  const files = await Promise.all(FOLDERS.map(folder => filesIn(outputDir, folder)));
  const isDue = (name: string) => state.all.get(name)?.reported !== true && (final || !CHANGING.has(name));
  return [...videos, ...files.flat()].filter(isDue).sort();
}

const FOLDERS = [...Object.values(FILE_FOLDERS), PAGE_FOLDER];
const CHANGING: ReadonlySet<string> = new Set(Object.values(LAST_PAGE));

/** The files of a folder that are whole, as artifacts are named; those that are still written have names of their own. */
async function filesIn(outputDir: string, folder: string): Promise<string[]> {
  const entries = await readdir(join(outputDir, folder), { withFileTypes: true }).catch(() => []);
  return entries
    .filter(entry => entry.isFile())
    .map(({ name }) => `${folder}/${name}`)
    .filter(name => kindOfArtifact(name) !== 'video');
}

const answered = z.object({
  $response: z.object({ statusCode: z.number(), headers: z.record(z.string(), z.string()).optional() }),
});

/**
 * Short, in characters that every database takes, with the status and the egress proxy's own word where there was an
 * answer.
 */
function causeOf(cause: unknown): string {
  const text = cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause);
  const { data } = answered.safeParse(cause);
  const refusal = data?.$response.headers?.[REFUSAL_HEADER];
  const status = data === undefined ? '' : `status ${data.$response.statusCode}${refusal ? ` ${refusal}` : ''}, `;
  return `${status}${text.replaceAll(/[^\x20-\x7e]+/g, ' ').slice(0, 200)}`;
}

const NEVER = new AbortController().signal;

function onAbort(signal: AbortSignal, act: () => void): void {
  if (signal.aborted) act();
  else signal.addEventListener('abort', act, { once: true });
}
