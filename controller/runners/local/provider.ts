import { mkdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ENV, leaseMcpPath, RUNNER_COMMAND, runnerTempName } from '../../../contract/names.ts';
import { OmicronError } from '../../../contract/problem.ts';
import { sha256Hex } from '../../../contract/tokens.ts';
import { letBrowsersEnd } from '../../../process/leftover-browsers.ts';
import { timeoutSignal } from '../../../time/clock.ts';
import type { RemoteBrowsers } from '../../ports/remote-browsers.ts';
import type { ProviderContext, RunnerProvider, WarmRunner } from '../../ports/runners.ts';
import { startFailureOf } from '../start-failure.ts';
import { RunnerFolder } from './folder.ts';
import { launchRunner } from './launch.ts';
import { RunnerProcesses } from './processes.ts';
import { portTombstones } from './tombstones.ts';
import { uploads } from './upload.ts';

export interface LocalRunners extends ProviderContext {
  /** The service of their browsers, if they are not on this machine. Another provider, by its name: it needs a `root` of its own. */
  remote?: RemoteBrowsers | undefined;
  /** Folder of runner folders, readable by this user alone. */
  root: string;
  /** Address at which clients reach the controller, and no runner; undefined: they reach the runners on this machine. */
  publicUrl: string | undefined;
  /** `file://` URL that the uploader writes to. */
  artifactStore: string;
  /** The runners' environment: PATH, HOME, browser, ffmpeg, sandbox. Never a secret of the controller. */
  environment: Record<string, string>;
  /** Memory that all processes of one runner may take together; beyond it the runner is killed, and its lease fails. */
  memoryBytesMax: number;
}

/** The repository's folder, from which the runner's files are named. */
const ROOT = new URL('../../../', import.meta.url);
/** TypeScript in a clone, JavaScript in a published package. */
const programPath = (path: string): string =>
  fileURLToPath(new URL(import.meta.url.endsWith('.ts') ? path : path.replace(/\.ts$/, '.js'), ROOT));
const RUNNER = programPath(RUNNER_COMMAND.main);
const UPLOADER = programPath(RUNNER_COMMAND.uploaderMain);

const endpointOf = (port: number): string => `http://127.0.0.1:${port}`;

const HEALTH_TIMEOUT_MS = 1_000;
const POLL_MS = 30;
const LOG_LINES = 5;

/**
 * Runners as child processes of a laptop: no pod around them, so one machine, one user. They outlive the controller
 * (a restart loses no lease), and each closes by its own deadline.
 */
export function localRunners(options: LocalRunners): RunnerProvider {
  const { root, controllerUrl, publicUrl, jwks, artifactStore, remote, onChange, log } = options;
  const folder = (runnerId: string) => new RunnerFolder(root, runnerId);
  const processes = new RunnerProcesses({
    ...options,
    async answers(runnerId, signal) {
      const port = await folder(runnerId).readPort();
      return port === null ? undefined : (await options.healthOf(endpointOf(port), signal)) !== null;
    },
  });
  const ended = portTombstones(options);
  const environment = async () => ({
    ...options.environment,
    ...(remote === undefined ? {} : { [ENV.remoteBrowser]: 'stdin' }),
    [ENV.controllerUrl]: await controllerUrl,
    [ENV.artifactStore]: artifactStore,
  });
  const uploaders = uploads({ uploader: UPLOADER, environment, log });
  // with the controller's address: a restarted controller that listens elsewhere cannot use the old warm runners
  const digest = controllerUrl.then(url => sha256Hex(JSON.stringify([RUNNER, options.environment, url])).slice(0, 16));
  const deathOf = (runnerId: string) => processes.deathOf(runnerId, folder(runnerId));
  const keepPort = async (runnerId: string) => {
    const port = await folder(runnerId).readPort();
    if (port !== null) await ended.keep(runnerId, port);
  };

  return {
    name: remote?.name ?? 'local',
    capabilities: { holdsSiteRules: remote === undefined, keepsBrowserFiles: remote === undefined, launchesAtOnce: 8 },
    templateDigest: () => digest,

    async create(runnerId) {
      await mkdir(root, { recursive: true, mode: 0o700 });
      const home = folder(runnerId);
      if (home.exists) return;
      // Before its folder: a runner whose folder is there and whose process is not is dead.
      const browser = await remote?.create();
      if (!(await home.make())) {
        if (browser !== undefined) await remote?.remove(browser.id);
        return;
      }
      if (browser !== undefined) await home.writeRemoteBrowser(browser.id);
      const started = await launchRunner(home, {
        runnerId,
        runner: RUNNER,
        jwks,
        environment: await environment(),
        input: browser?.cdpUrl,
        onExit(how) {
          processes.exited(runnerId, how);
          void keepPort(runnerId);
          onChange(runnerId);
        },
      });
      processes.started(runnerId, started);
    },

    whenWarm: (runnerId, signal) =>
      whenWarm(options, folder(runnerId), () => deathOf(runnerId), signal).catch(error => {
        throw remote !== undefined && error instanceof OmicronError
          ? new OmicronError(error.code, `The provider ${remote.name} failed: ${error.message}`, { cause: error })
          : error;
      }),
    deathOf,
    addressOf: ({ id, endpoint }) => ({
      mcpUrl: publicUrl === undefined ? `${endpoint}/mcp` : `${publicUrl}${leaseMcpPath(id)}`,
      workload: null,
    }),
    markLeased: () => undefined,

    async remove(runnerId) {
      const home = folder(runnerId);
      if (!home.exists) return 'gone';
      await keepPort(runnerId);
      if (!(await processes.end(runnerId, home))) return 'deleting';
      if (!(await uploaders.isDone(runnerId, home.output))) return 'deleting';
      const browser = await home.readRemoteBrowser();
      if (browser !== null) await remote?.remove(browser);
      // A runner that was killed leaves them.
      const temp = join(tmpdir(), runnerTempName(runnerId));
      letBrowsersEnd(temp);
      await rm(temp, { recursive: true, force: true });
      await home.remove();
      processes.forget(runnerId);
      uploaders.forget(runnerId);
      return 'gone';
    },

    list: () => RunnerFolder.list(root),
  };
}

async function whenWarm(
  { healthOf, clock }: LocalRunners,
  home: RunnerFolder,
  deathOf: () => ReturnType<RunnerProvider['deathOf']>,
  signal: AbortSignal,
): Promise<WarmRunner> {
  for (;;) {
    const death = await deathOf();
    if (death !== null) {
      const lines = await home.lastLines(LOG_LINES);
      throw new OmicronError('runner_start_failed', `${death.reason} Last lines of its log: ${lines || '(none)'}`);
    }
    const port = await home.readPort();
    const bound = AbortSignal.any([signal, timeoutSignal(HEALTH_TIMEOUT_MS, clock)]);
    const endpoint = port === null ? '' : endpointOf(port);
    const health = port === null ? null : await healthOf(endpoint, bound);
    if (health?.phase === 'warm') return { bootId: health.boot_id, endpoint };
    if (health?.phase === 'failed') throw startFailureOf(health);
    await clock.sleep(POLL_MS, signal);
  }
}
