import { pino } from 'pino';
import type { UploadOrder } from '../../contract/reports.ts';
import { EnvironmentError } from '../../process/environment.ts';
import { realClock } from '../../time/clock.ts';
import { controllerClient } from '../reporting/controller-client.ts';
import { requireAwsSdk } from './aws-sdk.ts';
import { folderRecordingStore } from './folder-store.ts';
import type { RecordingStore } from './recording-store.ts';
import { onceSettings, type SidecarSettings, sidecarSettings } from './settings.ts';
import { type UploadResult, uploadRecordings } from './upload.ts';

/** How long a run over a folder tries; what is left stays on disk and the exit code is 1. */
const RUN_MS = 10 * 60_000;

/** `--once`: sends what a dead runner of this machine left, then exits. */
function uploadOnce(): Promise<UploadResult> {
  const settings = onceSettings(process.env);
  return uploadRecordings({
    outputDir: settings.outputDir,
    runnerId: undefined,
    storeFor: async () => folderRecordingStore(settings.artifactStore),
    reporter: controllerClient(settings.controllerUrl).artifact,
    final: AbortSignal.abort(),
    graceMs: RUN_MS,
    afterGrace: 'keep',
    clock: realClock,
    log: pino({ level: settings.logLevel }),
  });
}

/**
 * The sidecar of a pod: lives until SIGTERM, which comes when the browser's container has ended. Its folder goes with
 * it.
 */
function runSidecar(ending: AbortSignal): Promise<UploadResult> {
  const settings = sidecarSettings(process.env);
  requireAwsSdk();
  const { runnerId } = settings;
  return uploadRecordings({
    outputDir: settings.outputDir,
    runnerId,
    storeFor: order => bucketStore(settings, order),
    reporter: controllerClient(settings.controllerUrl).artifact,
    final: ending,
    graceMs: settings.uploadSeconds * 1_000,
    afterGrace: 'lose',
    clock: realClock,
    log: pino({ level: settings.logLevel, base: { runner_id: runnerId } }),
  });
}

/** The AWS SDK is loaded for an order: most sidecars wait beside a warm browser, and it takes 30 MB. */
async function bucketStore(
  settings: SidecarSettings,
  { runner_id, upload_credential = '' }: UploadOrder,
): Promise<RecordingStore> {
  const [{ s3Store }, { s3Bucket }, { createUploadClient }] = await Promise.all([
    import('./s3-store.ts'),
    import('./s3-bucket.ts'),
    import('./s3-client.ts'),
  ]);
  const { egressUrl } = settings;
  const proxy = egressUrl === undefined ? undefined : new URL(egressUrl);
  // Without a credential the proxy refuses, and its refusal is the reason of the loss.
  if (proxy !== undefined) Object.assign(proxy, { username: runner_id, password: upload_credential });
  const client = createUploadClient({
    region: settings.awsRegion,
    proxyUrl: proxy?.href,
    ownEndpoint: settings.awsS3Endpoint !== undefined,
  });
  return s3Store(s3Bucket(client, settings.bucket));
}

/** The uploader's exit code. `ending` aborts at SIGTERM, which ends a run `--once` anyhow. */
export async function run(args: readonly string[], ending: AbortSignal): Promise<number> {
  try {
    const { left } = await (args[0] === '--once' ? uploadOnce() : runSidecar(ending));
    return left === 0 ? 0 : 1;
  } catch (error) {
    if (!(error instanceof EnvironmentError)) throw error;
    process.stderr.write(`${error.message}\n`);
    return 2;
  }
}
