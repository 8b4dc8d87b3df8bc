import { pino } from 'pino';
import { ENV } from '../contract/names.ts';
import { startEgress } from './compose.ts';
import { egressConfig } from './config.ts';
import { controllerPolicies } from './controller.ts';

const log = pino({ name: 'egress' });

try {
  const config = egressConfig(process.env);
  delete process.env[ENV.egressSecret];
  const source = controllerPolicies({ url: config[ENV.controllerUrl], key: config[ENV.egressSecret] });
  const egress = await startEgress(config, source, log);
  log.info({ port: egress.port, admin_port: egress.adminPort }, 'egress proxy ready');
  const stop = (signal: NodeJS.Signals) => {
    log.info({ signal }, 'egress proxy stopping');
    void egress.stop().then(() => process.exit(0));
  };
  process.once('SIGTERM', stop).once('SIGINT', stop);
  process.once('disconnect', () => process.exit(0)); // the local stack that started it is gone
} catch (cause) {
  log.fatal(cause instanceof Error ? cause.message : 'the egress proxy could not start');
  process.exit(1);
}
