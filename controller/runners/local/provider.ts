import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Logger } from 'pino';
import { ENV, RUNNER_COMMAND, runnerTempName } from '../../../contract/names.ts';
import { OmicronError, type ProblemCode } from '../../../contract/problem.ts';
import { UPLOAD_ORDER_FILE } from '../../../contract/reports.ts';
import { sha256Hex } from '../../../contract/tokens.ts';
import type { RunnerProvider } from '../../ports/runners.ts';
import { healthOf } from '../http-link.ts';
import { RunnerFolder } from './folder.ts';
import { type ProcessId, processId, runs, signal } from './process.ts';

export interface LocalRunners {
  /** Folder of runner folders, readable by this user alone. */
  root: string;
  /** Known once the controller listens. */
  controllerUrl: () => string;
  jwks: string;
  /** `file://` URL that the uploader writes to. */
  artifactStore: string;
  /** Added to the runners' environment: browser, ffmpeg, sandbox. Never a secret of the controller. */
  env: Record<string, string>;
  /** Called when a runner of this process has ended. */
  onExit: () => void;
  log: Logger;
}

/** The repository's folder, from which the runner's files are named. */
const ROOT = new URL('../../../', import.meta.url);
/** TypeScript in a clone, JavaScript in a published package. */
const program = (path: string): string =>
  fileURLToPath(new URL(import.meta.url.endsWith('.ts') ? path : path.replace(/\.ts$/, '.js'), ROOT));
const RUNNER = program(RUNNER_COMMAND.main);
const UPLOADER = program(RUNNER_COMMAND.uploaderMain);

/** A drained runner finishes its video in a second or two; then it is not asked any more. */
const KILL_AFTER_MS = 15_000;
const UPLOAD_ATTEMPTS = 3;
const HEALTH_TIMEOUT_MS = 1_000;
const PASSED_ON = ['PATH', 'HOME', 'TMPDIR', 'LANG', 'PLAYWRIGHT_BROWSERS_PATH', 'NODE_EXTRA_CA_CERTS'];

/**
 * Runners as child processes of a laptop: no pod around them, so one machine, one user. They outlive the controller
 * (a restart loses no lease), and each closes by its own deadline.
 */
export function localRunners(options: LocalRunners): RunnerProvider {
  const { root, log } = options;
  const folder = (runnerId: string) => new RunnerFolder(root, runnerId);
  const exits = new Map<string, string>();
  const terminatedAtMs = new Map<string, number>();
  const uploads = new Map<string, { attempts: number; running: boolean }>();
  const known = new Map<string, ProcessId>();
  /** Of the template: every request asks. */
  let digested: { url: string; digest: string } | undefined;

  const environment = (): NodeJS.ProcessEnv => ({
    ...Object.fromEntries(PASSED_ON.map(name => [name, process.env[name]])),
    ...options.env,
    [ENV.controllerUrl]: options.controllerUrl(),
    [ENV.artifactStore]: options.artifactStore,
  });

  const processOf = async (runnerId: string): Promise<ProcessId | null> => {
    const found = known.get(runnerId) ?? (await folder(runnerId).readProcess());
    if (found) known.set(runnerId, found);
    return found;
  };

  /** Sends what the dead runner recorded. True: nothing is left to send, or it was tried often enough. */
  const uploaded = (runnerId: string): boolean => {
    const { output } = folder(runnerId);
    if (!existsSync(join(output, UPLOAD_ORDER_FILE))) return true;
    const upload = uploads.get(runnerId) ?? { attempts: 0, running: false };
    uploads.set(runnerId, upload);
    if (upload.running) return false;
    if (upload.attempts >= UPLOAD_ATTEMPTS) return true;
    upload.attempts += 1;
    upload.running = true;
    const child = spawn(process.execPath, [UPLOADER, '--once'], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...environment(), [ENV.outputDir]: output },
    });
    let said = '';
    child.stderr.on('data', chunk => {
      said = `${said}${chunk}`.slice(-2_000);
    });
    const done = (outcome: string | null) => {
      upload.running = false;
      if (outcome !== null)
        log.error({ runner_id: runnerId, attempt: upload.attempts, outcome, said }, 'an upload failed');
    };
    child.on('error', error => done(error.message));
    child.on('exit', code => done(code === 0 ? null : `exit code ${code}`));
    return false;
  };

  const provider: RunnerProvider = {
    name: 'local',

    // a warm runner that knows another controller's address is of no use: a restart may listen elsewhere
    async templateDigest() {
      const url = options.controllerUrl();
      if (digested?.url !== url)
        digested = { url, digest: sha256Hex(JSON.stringify([RUNNER, options.env, url])).slice(0, 16) };
      return digested.digest;
    },

    async create(runnerId) {
      await mkdir(root, { recursive: true, mode: 0o700 });
      const home = folder(runnerId);
      if (!(await home.make())) return;
      const logFile = await home.openLog();
      try {
        const child = spawn(process.execPath, [...RUNNER_COMMAND.flags, RUNNER], {
          cwd: home.path,
          detached: true, // its own process group: it outlives us, and can be ended whole
          stdio: ['ignore', logFile.fd, logFile.fd],
          env: {
            ...environment(),
            ...RUNNER_COMMAND.env,
            [ENV.runnerId]: runnerId,
            [ENV.controllerJwks]: options.jwks,
            [ENV.runnerHost]: '127.0.0.1',
            [ENV.runnerPort]: '0',
            [ENV.portFile]: home.portFile,
            [ENV.outputDir]: home.output,
          },
        });
        child.on('exit', (code, name) => {
          exits.set(runnerId, name === null ? `exit code ${code}` : name);
          options.onExit();
        });
        await new Promise<void>((resolve, reject) => child.once('spawn', resolve).once('error', reject));
        if (child.pid === undefined) throw new Error('the runner has no process id');
        known.set(runnerId, processId(child.pid));
        await home.writeProcess(processId(child.pid));
        child.unref();
      } finally {
        await logFile.close();
      }
    },

    async whenWarm(runnerId, stop) {
      for (;;) {
        const death = await provider.deathOf(runnerId);
        if (death !== null) {
          const lines = await folder(runnerId).lastLines(5);
          throw new OmicronError('runner_start_failed', `${death.reason} Its last lines: ${lines || '(none)'}`);
        }
        const port = await folder(runnerId).readPort();
        const inTime = AbortSignal.any([stop, AbortSignal.timeout(HEALTH_TIMEOUT_MS)]);
        const health = port === null ? null : await healthOf(`http://127.0.0.1:${port}`, inTime);
        if (health?.phase === 'warm') return { bootId: health.boot_id, endpoint: `http://127.0.0.1:${port}` };
        if (health?.phase === 'failed') {
          const code: ProblemCode =
            health.error?.code === 'sandbox_runtime_required' ? 'sandbox_runtime_required' : 'runner_start_failed';
          throw new OmicronError(code, health.error?.detail ?? 'The browser did not start.');
        }
        await sleep(30, undefined, { signal: stop });
      }
    },

    async deathOf(runnerId) {
      const id = await processOf(runnerId);
      if (id && runs(id)) return null;
      // how it ended reaches us a moment later; a folder without a process file is a start under way for a moment, too
      if (folder(runnerId).exists && !exits.has(runnerId)) {
        await sleep(200);
        const later = await processOf(runnerId);
        if (later && runs(later)) return null;
      }
      const how = exits.get(runnerId) ?? 'nobody saw how';
      return { ended: true, reason: `The runner's process has ended (${how}). Ask again for a new browser.` };
    },

    publish: ({ endpoint }) => ({ mcpUrl: `${endpoint}/mcp`, workload: null }),

    async remove(runnerId) {
      const home = folder(runnerId);
      if (!home.exists) return 'gone';
      const id = await processOf(runnerId);
      if (id && runs(id)) {
        const since = terminatedAtMs.get(runnerId);
        if (since === undefined) {
          terminatedAtMs.set(runnerId, performance.now());
          signal(id, 'SIGTERM');
        } else if (performance.now() - since > KILL_AFTER_MS) {
          log.warn({ runner_id: runnerId }, 'a runner did not stop and is killed');
          signal(id, 'SIGKILL');
        }
        return 'deleting';
      }
      if (!uploaded(runnerId)) return 'deleting';
      // a runner that was killed leaves its browser's profile
      await rm(join(tmpdir(), runnerTempName(runnerId)), { recursive: true, force: true });
      await home.remove();
      for (const map of [exits, terminatedAtMs, uploads, known]) map.delete(runnerId);
      return 'gone';
    },

    list: () => RunnerFolder.list(root),
  };
  return provider;
}
