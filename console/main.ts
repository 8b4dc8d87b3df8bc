import { once } from 'node:events';
import { pino } from 'pino';
import { ENV } from '../contract/names.ts';
import { adminServer } from '../http/admin-server.ts';
import manifest from '../package.json' with { type: 'json' };
import { readMetricExport, startMetricExport } from '../process/metric-export.ts';
import { currentSpan, startTracing } from '../process/tracing.ts';
import { signInBy } from './identity.ts';
import { prometheusConsoleMetrics } from './metrics.ts';
import { startConsole } from './server/console.ts';
import { parseConsoleSettings } from './settings.ts';

// Entry of the console on a cluster. The local stack starts the console in its own process.

const log = pino({ name: 'console', mixin: () => ({ ...currentSpan() }) });

try {
  const settings = parseConsoleSettings(process.env);
  for (const name of [ENV.serviceSecret, ENV.consoleOidcClientSecret, ENV.consolePlatformSecret])
    delete process.env[name];
  const { version } = manifest;
  const onLost = (spans: number) => log.warn({ spans }, 'spans lost: the collector does not take them');
  readMetricExport('omicron-console', process.env); // refused before anything is served
  const stopTracing = await startTracing({ name: 'omicron-console', version, onLost }, process.env);
  const { url, host, port, controllerUrl, serviceSecret, embedOrigins, ffmpeg } = settings;
  const metrics = prometheusConsoleMetrics();
  const running = await startConsole({
    url,
    listen: { host, port },
    controllerUrl,
    serviceSecret,
    embedOrigins,
    ffmpeg,
    log,
    identity: signInBy(settings),
    metrics,
  });
  const admin = adminServer(metrics.registry, () => true).listen(settings.adminPort, settings.adminHost);
  await once(admin, 'listening');
  const read = () => metrics.registry.getMetricsAsJSON();
  const onFailed = (err: unknown) => log.warn({ err }, 'metrics not exported');
  const stopMetrics = startMetricExport({ name: 'omicron-console', version, read, onFailed }, process.env);
  const stop = (signal: NodeJS.Signals) => {
    log.info({ signal }, 'console stopping');
    void running
      .stop()
      .then(() => admin.close())
      .then(stopMetrics)
      .then(stopTracing)
      .then(() => process.exit(0));
  };
  process.once('SIGTERM', stop).once('SIGINT', stop);
} catch (cause) {
  log.fatal(cause instanceof Error ? cause.message : 'console failed to start');
  process.exit(1);
}
