import { pino } from 'pino';
import type { EgressReady } from '../contract/egress.ts';
import { ENV } from '../contract/names.ts';
import { startEgress } from './compose.ts';
import { controllerPolicies } from './controller.ts';
import { parseEgressSettings } from './settings.ts';

const log = pino({ name: 'egress' });

try {
  const settings = parseEgressSettings(process.env);
  delete process.env[ENV.egressSecret];
  const source = controllerPolicies({ url: settings.controllerUrl, key: settings.egressKey });
  const egress = await startEgress(settings, source, log);
  log.info({ port: egress.port, admin_port: egress.adminPort }, 'egress proxy ready');
  process.send?.({ port: egress.port, adminPort: egress.adminPort } satisfies EgressReady);
  const stop = (signal: NodeJS.Signals) => {
    log.info({ signal }, 'egress proxy stopping');
    void egress.stop().then(() => process.exit(0));
  };
  process.once('SIGTERM', stop).once('SIGINT', stop);
  process.once('disconnect', () => process.exit(0)); // the process that forked it has ended
} catch (cause) {
  log.fatal(cause instanceof Error ? cause.message : 'egress proxy failed to start');
  process.exit(1);
}
