import { pino } from 'pino';
import { ENV, NAMESPACES, RUNNER_TEMPLATE, RUNNER_VARIABLES } from '../contract/names.ts';
import manifest from '../package.json' with { type: 'json' };
import { pickVariables } from '../process/environment.ts';
import { readMetricExport, startMetricExport } from '../process/metric-export.ts';
import { currentSpan, startTracing, TRACING_VARIABLES } from '../process/tracing.ts';
import { startController } from './compose.ts';
import type { MakeProvider } from './ports/runners.ts';
import { ClusterConnections } from './runners/kubernetes/kept-connections.ts';
import { kubernetesRunners, type WatchingProvider } from './runners/kubernetes/provider.ts';
import { parseControllerSettings, type Settings } from './settings.ts';
import { postgresPools } from './store/postgres.ts';

/** Variables that local runners inherit from this process; pods have it from their template. */
const RUNNER_ENV = [...RUNNER_VARIABLES, ENV.chromiumPath, ENV.ffmpegPath];

/** Runners as pods of the cluster that this process, or its kubeconfig, is in. Watches it from here on, until the process ends. */
const podRunners =
  ({ runnerNamePrefix: namePrefix, podAddress }: Settings, onMade: (runners: WatchingProvider) => void): MakeProvider =>
  async context => {
    const config = new ClusterConnections(context.clock);
    config.loadFromDefault();
    const runners = kubernetesRunners({
      ...context,
      config,
      namespace: NAMESPACES.runners,
      templateName: RUNNER_TEMPLATE,
      namePrefix,
      podAddress,
    });
    await runners.start();
    onMade(runners);
    return runners;
  };

/** The controller as a process of its own, on Postgres. SIGTERM stops it gracefully; runners stay leased. */
async function main(): Promise<void> {
  const settings = parseControllerSettings(process.env);
  const log = pino({ name: 'controller', level: settings.logLevel, mixin: () => ({ ...currentSpan() }) });
  const { version } = manifest;
  const onLost = (spans: number) => log.warn({ spans }, 'spans lost: the collector does not take them');
  readMetricExport('omicron-controller', process.env); // refused before anything is served
  const stopTracing = await startTracing({ name: 'omicron-controller', version, onLost }, process.env);
  const { database, renewals } = postgresPools({
    url: settings.databaseUrl,
    tls: settings.databaseTls,
    ca: settings.databaseCa,
    connectionsMax: settings.databaseConnections,
    log,
  });
  let runners: WatchingProvider | undefined;
  const provider = podRunners(settings, made => {
    runners = made;
  });
  const controller = await startController({
    settings,
    database,
    renewals,
    log,
    runnerEnv: pickVariables(process.env, [...RUNNER_ENV, ...TRACING_VARIABLES]),
    ...(settings.provider === 'kubernetes' ? { provider } : {}),
  });
  const onFailed = (err: unknown) => log.warn({ err }, 'metrics not exported');
  const exported = { name: 'omicron-controller', version, read: controller.readMetrics, onFailed };
  const stopMetrics = startMetricExport(exported, process.env);
  const stop = (name: NodeJS.Signals) => {
    log.info({ signal: name }, 'stopping; runners stay leased');
    controller
      .stop()
      .then(() => runners?.stop())
      .then(stopMetrics)
      .then(() => database.close())
      .then(stopTracing)
      .then(
        () => process.exit(0),
        error => {
          log.error({ err: error }, 'shutdown failed');
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
