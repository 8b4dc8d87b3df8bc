import { pino } from 'pino';
import type { EgressReady } from '../contract/egress.ts';
import { ENV } from '../contract/names.ts';
import manifest from '../package.json' with { type: 'json' };
import { readMetricExport, startMetricExport } from '../process/metric-export.ts';
import { currentSpan, startTracing } from '../process/tracing.ts';
import { startEgress } from './compose.ts';
import { controllerPolicies } from './controller.ts';
import { parseEgressSettings } from './settings.ts';

const log = pino({ name: 'egress', mixin: () => ({ ...currentSpan() }) });

try {
  const settings = parseEgressSettings(process.env);
  delete process.env[ENV.egressSecret];
  const { version } = manifest;
  const onLost = (spans: number) => log.warn({ spans }, 'spans lost: the collector does not take them');
  readMetricExport('omicron-egress', process.env); // refused before anything is served
  const stopTracing = await startTracing({ name: 'omicron-egress', version, onLost }, process.env);
  const source = controllerPolicies({ url: settings.controllerUrl, key: settings.egressKey });
  const egress = await startEgress(settings, source, log);
  log.info({ port: egress.port, admin_port: egress.adminPort }, 'egress proxy ready');
  process.send?.({ port: egress.port, adminPort: egress.adminPort } satisfies EgressReady);
  const read = egress.readMetrics;
  const onFailed = (err: unknown) => log.warn({ err }, 'metrics not exported');
  const stopMetrics = startMetricExport({ name: 'omicron-egress', version, read, onFailed }, process.env);
  const stop = (signal: NodeJS.Signals) => {
    log.info({ signal }, 'egress proxy stopping');
    void egress
      .stop()
      .then(stopMetrics)
      .then(stopTracing)
      .then(() => process.exit(0));
  };
  process.once('SIGTERM', stop).once('SIGINT', stop);
  process.once('disconnect', () => process.exit(0)); // the process that forked it has ended
} catch (cause) {
  log.fatal(cause instanceof Error ? cause.message : 'egress proxy failed to start');
  process.exit(1);
}
