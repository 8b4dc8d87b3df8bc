// A controller as a process of its own, whose runners are a server of the bench: see runner-stub.ts.
import { pino } from 'pino';
import { startController } from '../../controller/compose.ts';
import { parseControllerSettings } from '../../controller/settings.ts';
import { postgresPools } from '../../controller/store/postgres.ts';
import { startMetricExport } from '../../process/metric-export.ts';
import { currentSpan, startTracing } from '../../process/tracing.ts';
import { STUB_VARIABLE, stubProvider } from './runner-stub.ts';

const runners = String(process.env[STUB_VARIABLE]);
const { [STUB_VARIABLE]: _, ...environment } = process.env;
const program = { name: 'omicron-controller', version: '0' };
const onLost = (spans: number) => void process.send?.({ lost: spans });
const stopTracing = await startTracing({ ...program, onLost }, environment);
const settings = parseControllerSettings(environment);
// as main.ts logs, to nowhere
const log = pino(
  { name: 'controller', level: settings.logLevel, mixin: () => ({ ...currentSpan() }) },
  pino.destination({ dest: '/dev/null', sync: false }),
);
const { database, renewals } = postgresPools({
  url: settings.databaseUrl,
  connectionsMax: settings.databaseConnections,
  log,
});
const controller = await startController({
  settings,
  database,
  renewals,
  log,
  runnerEnv: {},
  provider: () => stubProvider(runners),
});
const stopMetrics = startMetricExport(
  { ...program, read: controller.readMetrics, onFailed: () => undefined },
  environment,
);
process.once('message', async () => {
  await controller.stop();
  await stopMetrics();
  await database.close();
  await stopTracing();
  process.disconnect?.();
});
process.send?.({ url: controller.url });
