import { once } from 'node:events';
import { join } from 'node:path';
import { pino } from 'pino';
import { ENV } from '../../contract/names.ts';
import { POLICY_PRESETS, type PolicyPreset, PRESET_NAMES } from '../../contract/policy/presets.ts';
import { type Stack, startStack } from '../../local/stack.ts';
import { stackEnvironment } from '../../local/stack-environment.ts';
import { StackFolder } from '../../local/stack-folder.ts';
import { startMetricExport } from '../../process/metric-export.ts';
import { currentSpan, startTracing } from '../../process/tracing.ts';
import type { Cli } from '../connect.ts';
import manifest from '../package.json' with { type: 'json' };

interface UpOptions {
  port?: number;
  pool?: number;
  policyPresets?: readonly PolicyPreset[];
}

/** Starts the local stack that the environment describes; its log goes into the folder. */
export async function startLocalStack({ environment, folder }: Cli, options: UpOptions = {}): Promise<Stack> {
  const stackFolder = new StackFolder(folder);
  await stackFolder.make();
  const log = pino(
    { name: 'controller', level: environment[ENV.logLevel] || 'info', mixin: () => ({ ...currentSpan() }) },
    pino.destination({ dest: stackFolder.logFile, mode: 0o600 }),
  );
  const { version } = manifest;
  const onLost = (spans: number) => log.warn({ spans }, 'spans lost: the collector does not take them');
  const stopTracing = await startTracing({ name: 'omicron-controller', version, onLost }, environment);
  const { settings, ...described } = stackEnvironment(environment);
  const presets = options.policyPresets;
  let stack: Stack | undefined;
  const stopMetrics = startMetricExport(
    {
      name: 'omicron-controller',
      version,
      read: async () => (await stack?.readMetrics()) ?? [],
      onFailed: (err: unknown) => log.warn({ err }, 'metrics not exported'),
    },
    environment,
  );
  stack = await startStack({
    ...described,
    settings: presets === undefined ? settings : { ...settings, [ENV.policyPresets]: presets.join() },
    folder,
    port: options.port,
    poolIdle: options.pool,
    log,
  });
  const { stop } = stack;
  let stopped: Promise<void> | undefined;
  return {
    ...stack,
    stop() {
      stopped ??= stopMetrics().then(stop).then(stopTracing);
      return stopped;
    },
  };
}

/** P4: presets of policies are offered, to take or to leave; they hold while the stack runs with them. */
function describePresets(environment: Cli['environment'], { policyPresets }: UpOptions): string {
  const taken = policyPresets?.join(', ') ?? environment[ENV.policyPresets];
  if (taken) return `Its sessions have the policy presets ${taken}, until it is started without them.`;
  const offered = PRESET_NAMES.map(name => `  ${name.padEnd(16)} ${POLICY_PRESETS[name].title}`).join('\n');
  return `Its sessions may do what no policy forbids. Presets to take, "up --policy-presets ssrf,https-only":\n${offered}`;
}

/** `up`: runs the local stack in the foreground until Ctrl-C. */
export async function up(cli: Cli, options: UpOptions): Promise<void> {
  const { folder, signal, progress } = cli;
  const stack = await startLocalStack(cli, options);
  progress(`The controller listens at ${stack.url}; its data is in ${stack.folder}.

Open the console (the link works once, within ten minutes; "npx --no-install omicron-browser console" prints another):
  ${stack.console.link()}

Try it in another terminal, in this folder:
  npx --no-install omicron-browser smoke https://example.com
  npx --no-install omicron-browser session start --user ada --conversation chat-1
  npx --no-install omicron-browser credentials set example --user ada --username ada@example.com --url example.com

${describePresets(cli.environment, options)}

An application finds it by ${ENV.controllerUrl} and ${ENV.serviceSecret}; in its terminal:
  set -a; . ${join(folder, 'application.env')}; set +a

Ctrl-C ends all leases, waits for their recordings and stops; press it again to stop at once.`);
  if (!signal.aborted) await once(signal, 'abort'); // the stack's server keeps the process alive until then
  progress('\nStopping ...');
  await stack.stop();
  progress('Stopped; nothing is left running.');
}
