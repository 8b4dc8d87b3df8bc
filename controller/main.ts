import { KubeConfig } from '@kubernetes/client-node';
import { type Logger, pino } from 'pino';
import { ENV, NAMESPACES, RUNNER_TEMPLATE } from '../contract/names.ts';
import { startController } from './compose.ts';
import { controllerSettings } from './config.ts';
import type { RunnerProvider } from './ports/runners.ts';
import { kubernetesRunners } from './runners/kubernetes/provider.ts';
import { postgresDatabase } from './store/postgres.ts';

/** Settings of local runners, passed on as they are; pods have them from their template. */
const RUNNER_ENV = [
  ...[ENV.chromiumPath, ENV.chromiumSandbox, ENV.chromiumSpki, ENV.ffmpegPath, ENV.logLevel],
  ...[ENV.toolset, ENV.insecureLoginOrigins],
];

/** Runners as pods of the cluster that this process, or its kubeconfig, is in. Watches it from here on. */
async function podRunners(onChange: () => void, log: Logger): Promise<RunnerProvider> {
  const config = new KubeConfig();
  config.loadFromDefault();
  const runners = kubernetesRunners({
    ...{ config, onChange, log },
    ...{ namespace: NAMESPACES.runners, templateName: RUNNER_TEMPLATE },
  });
  await runners.start();
  return runners;
}

/** The controller as a process of its own, on Postgres. SIGTERM stops it gracefully; runners stay leased. */
async function main(): Promise<void> {
  const settings = controllerSettings(process.env);
  const log = pino({ name: 'controller', level: settings.logLevel });
  const database = postgresDatabase({
    url: settings.databaseUrl,
    connectionsMax: settings.databaseConnections,
    log,
  });
  const runnerEnv = Object.fromEntries(
    RUNNER_ENV.flatMap(name => {
      const value = process.env[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
  const inCluster = settings.provider === 'kubernetes';
  const controller = await startController({
    ...{ settings, database, log, runnerEnv },
    ...(inCluster ? { provider: options => podRunners(options.onExit, log) } : {}),
  });
  const stop = (name: NodeJS.Signals) => {
    log.info({ signal: name }, 'stopping; runners stay leased');
    controller
      .stop()
      .then(() => database.close())
      .then(
        () => process.exit(0),
        error => {
          log.error({ err: error }, 'the stop failed');
          process.exit(1);
        },
      );
  };
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
}

main().catch(error => {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
  process.exit(2);
});
