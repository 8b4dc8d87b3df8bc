import type { Logger } from 'pino';
import { type Console, startConsole } from '../console/server/console.ts';
import { ENV } from '../contract/names.ts';
import { OmicronError } from '../contract/problem.ts';
import type { Controller } from '../controller/compose.ts';
import { originsSchema, pickVariables } from '../process/environment.ts';
import { collectGarbage } from '../process/garbage.ts';
import { TRACING_VARIABLES } from '../process/tracing.ts';
import { startLocalController } from './controller.ts';
import { type EgressProcess, startEgressProcess } from './egress-process.ts';
import { freePort } from './free-port.ts';
import { lockFile } from './lock.ts';
import { findTools } from './machine-tools.ts';
import { StackFolder } from './stack-folder.ts';

/** Controller, database, console, egress proxy and warm runners on one machine, or in one container. The controller and the console run in this process. */
export interface Stack {
  readonly url: string;
  readonly serviceSecret: string;
  /** Metrics of the controller, and of the egress proxy where there is one. */
  readonly metricsUrls: { readonly controller: string; readonly egress: string | null };
  readonly console: Pick<Console, 'url' | 'link'>;
  /** The controller's. */
  readMetrics: Controller['readMetrics'];
  /** Absolute. */
  readonly folder: string;
  /** Ends every lease, waits for recordings and runners, and frees the folder. Repeating it changes nothing. */
  stop(): Promise<void>;
}

export interface StackOptions {
  /** e.g. `.omicron`; created when it does not exist. */
  folder: string;
  log: Logger;
  /** By default the previous one if it is free, else any free one. */
  port?: number | undefined;
  /** By default Postgres in this process (PGlite), in the folder. */
  databaseUrl?: string | undefined;
  /** Browsers kept warm; 1 by default. */
  poolIdle?: number | undefined;
  /**
   * Internal ranges that browsers may reach, e.g. `127.0.0.1/32`; none by default. `off`: no egress proxy, so that pages
   * reach this machine and its network.
   */
  egress?: { allowedCidrs: readonly string[] } | 'off' | undefined;
  /**
   * Other settings of the controller, by environment variable, e.g. `OMICRON_USER_LIMIT`. `OMICRON_HOST` and `OMICRON_CONSOLE_URL` are
   * the console's too; `OMICRON_SERVICE_JWT_SECRET` is kept in the folder.
   */
  settings?: Record<string, string> | undefined;
  /** Environment of the runners: `PATH`, `HOME`, `OMICRON_CHROMIUM`, `OMICRON_FFMPEG`, ... (`stackEnvironment`). */
  runnerEnv?: Record<string, string> | undefined;
  /** Variables of OpenTelemetry for the egress proxy (`EXPORT_VARIABLES`); by default those of the runners. */
  egressEnv?: Record<string, string> | undefined;
}

/** Starts the local stack. Throws `stack_running` when the folder has one. */
export async function startStack(options: StackOptions): Promise<Stack> {
  const folder = new StackFolder(options.folder);
  await folder.make();
  const lock = lockFile(folder.lockFile);
  if (!lock) throw await stackRunning(folder);
  await using started = new AsyncDisposableStack();
  started.defer(() => lock.release());
  started.defer(() => folder.clearRunning());

  const { settings = {} } = options;
  const embedOrigins = readEmbedOrigins(settings[ENV.consoleEmbedOrigins]);
  const keys = await folder.keys(settings[ENV.serviceSecret]);
  // The egress proxy must know it before the controller listens.
  const port = options.port || (await freePort(await folder.lastPort()));
  const egress = await egressOf(options, port, keys.egressSecret);
  if (egress) started.defer(() => egress.stop());
  const consoleUrl = settings[ENV.consoleUrl] ?? `http://127.0.0.1:${await freePort(port + 1)}`; // mostly the same at each start
  const controller = await startLocalController({
    folder: folder.path,
    keys,
    databaseUrl: options.databaseUrl ?? null,
    port,
    poolIdle: options.poolIdle ?? 1,
    settings: {
      ...settings,
      [ENV.consoleUrl]: consoleUrl,
      [ENV.liveUrl]: settings[ENV.liveUrl] ?? `http://127.0.0.1:${port}/live`,
      ...(egress && { [ENV.egressUrl]: egress.url }),
    },
    runnerEnv: { NODE_COMPILE_CACHE: folder.compileCache, ...options.runnerEnv },
    log: options.log,
  });
  started.defer(() => controller.shutdown());
  const pages = await startConsole({
    url: consoleUrl,
    listen: { host: settings[ENV.controllerHost] ?? '127.0.0.1', port: Number(new URL(consoleUrl).port) },
    controllerUrl: controller.url,
    serviceSecret: keys.serviceSecret,
    ffmpeg: findTools(options.runnerEnv ?? {}).ffmpeg ?? undefined,
    embedOrigins,
    log: options.log,
  });
  started.defer(() => pages.stop());
  await folder.setRunning({ url: controller.url, consoleUrl: pages.url, pid: process.pid }, keys.serviceSecret);
  collectGarbage(); // creating a database leaves 270 MB, which an idle process would keep: measured

  const parts = started.move();
  let stopped: Promise<void> | undefined;
  return {
    url: controller.url,
    serviceSecret: keys.serviceSecret,
    metricsUrls: { controller: `${controller.url}/metrics`, egress: egress?.metricsUrl ?? null },
    console: pages,
    readMetrics: controller.readMetrics,
    folder: folder.path,
    stop() {
      stopped ??= parts.disposeAsync();
      return stopped;
    },
  };
}

function readEmbedOrigins(value: string | undefined): string[] {
  const { data, error } = originsSchema().safeParse(value);
  if (data) return data;
  throw new OmicronError('invalid_request', `${ENV.consoleEmbedOrigins} ${error.issues[0]?.message}.`);
}

async function stackRunning(folder: StackFolder): Promise<OmicronError> {
  const running = await folder.running();
  const where = running ? ` at ${running.url} (process ${running.pid})` : '';
  return new OmicronError(
    'stack_running',
    `A stack is already running in ${folder.path}${where}. Use it, stop it, or choose another --folder.`,
  );
}

async function egressOf(options: StackOptions, controllerPort: number, secret: string): Promise<EgressProcess | null> {
  const { egress = { allowedCidrs: [] }, log } = options;
  if (egress === 'off') {
    log.warn('no egress proxy: pages reach this machine and its network');
    return null;
  }
  const { allowedCidrs } = egress;
  return startEgressProcess({
    controllerUrl: `http://127.0.0.1:${controllerPort}`,
    secret,
    allowedCidrs,
    environment: options.egressEnv ?? pickVariables(options.runnerEnv ?? {}, TRACING_VARIABLES),
    log,
  });
}
