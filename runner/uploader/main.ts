import { pino } from 'pino';
import { z } from 'zod';
import { ENV } from '../../contract/names.ts';
import { controllerClient } from '../controller-client.ts';
import { dirStore } from './store.ts';
import { uploadRecordings } from './upload.ts';

/** A run tries this long; what is left stays on disk and the exit code is 1. */
const RUN_MS = 10 * 60_000;

const schema = z.object({
  [ENV.controllerUrl]: z.url({ protocol: /^https?$/ }).transform(text => text.replace(/\/+$/, '')),
  [ENV.outputDir]: z.string().min(1),
  [ENV.artifactStore]: z.url({ protocol: /^file$/, error: 'must be a file: URL of a folder' }),
  [ENV.logLevel]: z.string().default('info'),
});

const parsed = schema.safeParse(process.env);
if (!parsed.success || process.argv[2] !== '--once') {
  const [issue] = parsed.error?.issues ?? [];
  const what = issue === undefined ? 'say --once' : `${issue.path.join('.')}: ${issue.message}`;
  process.stderr.write(`omicron uploader: ${what}\n`);
  process.exit(2);
}
const settings = parsed.data;
const controller = controllerClient(settings[ENV.controllerUrl]);
const result = await uploadRecordings({
  outputDir: settings[ENV.outputDir],
  store: dirStore(new URL(`${settings[ENV.artifactStore].replace(/\/+$/, '')}/`)),
  reporter: controller.artifact,
  signal: AbortSignal.timeout(RUN_MS),
  log: pino({ level: settings[ENV.logLevel] }),
});
process.exitCode = result.left === 0 ? 0 : 1;
