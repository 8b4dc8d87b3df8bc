// A controller on an API server with thousands of pods, as a process of its own. Runners of the pool are a server of the
// bench; those that the API server has are known from there: see many-pods.ts.
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { KubeConfig } from '@kubernetes/client-node';
import { pino } from 'pino';
import { startController } from '../../controller/compose.ts';
import { kubernetesRunners } from '../../controller/runners/kubernetes/provider.ts';
import { parseControllerSettings } from '../../controller/settings.ts';
import { postgresPools } from '../../controller/store/postgres.ts';
import { API_VARIABLE, type LoopDelay } from './many-pods.ts';
import { STUB_VARIABLE, stubProvider } from './runner-stub.ts';

const { [STUB_VARIABLE]: runners, [API_VARIABLE]: api, ...environment } = process.env;
const settings = parseControllerSettings(environment);
const log = pino({ level: settings.logLevel }, pino.destination({ dest: '/dev/null', sync: false }));
const { database, renewals } = postgresPools({
  url: settings.databaseUrl,
  connectionsMax: settings.databaseConnections,
  log,
});
const config = new KubeConfig();
config.loadFromClusterAndUser({ name: 'c', server: String(api), skipTLSVerify: true }, { name: 'u' });
const delay = monitorEventLoopDelay({ resolution: 5 });
delay.enable();
const controller = await startController({
  settings,
  database,
  renewals,
  log,
  runnerEnv: {},
  async provider(context) {
    const pods = kubernetesRunners({ ...context, config, namespace: 'omicron-browser', templateName: 'pw-mcp-runner' });
    await pods.start();
    const known = new Set(await pods.list());
    return {
      ...stubProvider(String(runners)),
      capabilities: pods.capabilities,
      deathOf: async id => (known.has(id) ? pods.deathOf(id) : null),
      list: pods.list,
    };
  },
});
process.on('message', message => {
  if (message === 'reset') return delay.reset();
  const { rss } = process.memoryUsage();
  const measured: LoopDelay = {
    p99_ms: Math.round(delay.percentile(99) / 1e6),
    max_ms: Math.round(delay.max / 1e6),
    rss_mib: Math.round(rss / 2 ** 20),
  };
  process.send?.(measured);
});
process.send?.({ url: controller.url });
