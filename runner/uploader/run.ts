import { type Logger, pino } from 'pino';
import type { UploadOrder } from '../../contract/reports.ts';
import { EnvironmentError } from '../../http/environment.ts';
import { controllerClient } from '../reporting/controller-client.ts';
import { requireAwsSdk } from './aws-sdk.ts';
import type { Bucket } from './bucket.ts';
import { onceSettings, type SidecarSettings, sidecarSettings } from './settings.ts';
import { followRecordings } from './sidecar.ts';
import { dirStore } from './store.ts';
import { uploadRecordings } from './upload.ts';

/** A run over a folder tries this long; what is left stays on disk and the exit code is 1. */
const RUN_MS = 10 * 60_000;

/** `--once`: sends what a dead runner of this machine left, then exits. */
async function once(): Promise<number> {
  const settings = onceSettings(process.env);
  const result = await uploadRecordings({
    outputDir: settings.outputDir,
    store: dirStore(settings.artifactStore),
    reporter: controllerClient(settings.controllerUrl).artifact,
    signal: AbortSignal.timeout(RUN_MS),
    log: pino({ level: settings.logLevel }),
  });
  return result.left === 0 ? 0 : 1;
}

/** The sidecar of a pod: lives until SIGTERM, which comes when the browser's container has ended. */
function sidecar(ending: AbortSignal): Promise<number> {
  const settings = sidecarSettings(process.env);
  requireAwsSdk();
  const runnerId = settings.runnerId;
  const log: Logger = pino({ level: settings.logLevel, base: { runner_id: runnerId } });
  return followRecordings({
    outputDir: settings.outputDir,
    runnerId,
    bucketFor: order => bucketOf(settings, order),
    reporter: controllerClient(settings.controllerUrl).artifact,
    ending,
    graceMs: settings.uploadSeconds * 1_000,
    log,
  });
}

/** The AWS SDK is loaded for an order: most sidecars wait beside a warm browser, and it takes 30 MB. */
async function bucketOf(
  settings: SidecarSettings,
  { runner_id, upload_credential = '' }: UploadOrder,
): Promise<Bucket> {
  const [{ s3Bucket }, { bucketClient }] = await Promise.all([import('./bucket.ts'), import('./bucket-client.ts')]);
  const egressUrl = settings.egressUrl;
  const proxy = egressUrl === undefined ? undefined : new URL(egressUrl);
  // Without a credential the proxy refuses, and says so in the reason of the loss.
  if (proxy !== undefined) Object.assign(proxy, { username: runner_id, password: upload_credential });
  const client = bucketClient({
    region: settings.awsRegion,
    proxyUrl: proxy?.href,
    ownEndpoint: settings.awsS3Endpoint !== undefined,
  });
  return s3Bucket(client, settings.bucket);
}

/** The uploader's exit code. `ending` aborts at SIGTERM, which ends a run `--once` anyhow. */
export async function run(args: readonly string[], ending: AbortSignal): Promise<number> {
  try {
    return await (args[0] === '--once' ? once() : sidecar(ending));
  } catch (error) {
    if (!(error instanceof EnvironmentError)) throw error;
    process.stderr.write(`${error.message}\n`);
    return 2;
  }
}
