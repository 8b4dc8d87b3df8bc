import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Logger } from 'pino';
import { RUNNER_COMMAND } from '../contract/names.ts';

const PROGRAM = fileURLToPath(new URL('watchdog.program.js', import.meta.url));

/**
 * A silent runner is killed after 8 to 20 s: before the kubelet's probe fails (manifests/parts/runner-containers.ts). One answer that is
 * late is the machine's fault.
 */
export const WATCHDOG_PATIENCE = { askEveryMs: 2_000, answerMs: 3_000, silentMax: 4 };

export interface WatchedRunner {
  readonly runnerId: string;
  /** The address on which the runner listens. */
  readonly host: string;
  readonly port: number;
  readonly log: Logger;
}

/**
 * Starts a process that kills this one when it does not answer over HTTP, and says so in its log. A pod needs it: the kubelet gives a runner
 * whose probe fails the grace of the whole pod, 120 s, since the pod ends with it. The process ends with this one.
 */
export function startWatchdog({ runnerId, host, port, log }: WatchedRunner): void {
  const options = JSON.stringify({ ...WATCHDOG_PATIENCE, pid: process.pid, runnerId, host, port });
  const child = spawn(process.execPath, [...RUNNER_COMMAND.flags, PROGRAM, options], {
    stdio: ['pipe', 'ignore', 'inherit'],
    env: RUNNER_COMMAND.env,
  });
  child.unref();
  child.once('error', err => log.error({ err }, 'watchdog not started'));
  child.once('exit', (exit_code, signal) => log.error({ exit_code, signal }, 'watchdog ended'));
}
