import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Logger } from 'pino';
import * as z from 'zod';
import { type EgressReady, egressReady } from '../contract/egress.ts';
import { ENV } from '../contract/names.ts';
import { realClock } from '../time/clock.ts';

/** The egress proxy of a local stack: a process of its own, which all traffic of its browsers passes. */
export interface EgressProcess {
  /** e.g. `http://127.0.0.1:41234`. */
  readonly url: string;
  /** Its metrics, for a Prometheus of this machine. */
  readonly metricsUrl: string;
  stop(): Promise<void>;
}

export interface EgressOptions {
  controllerUrl: string;
  secret: string;
  /** Internal ranges that browsers may reach, e.g. `127.0.0.2/32` for a site on this machine. */
  allowedCidrs: readonly string[];
  /** Variables of tracing. */
  environment: Readonly<Record<string, string>>;
  log: Logger;
}

/** TypeScript in a clone, JavaScript in a published package. */
const MAIN = fileURLToPath(new URL(`../egress/main.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`, import.meta.url));
const START_MS = 15_000;
const RESTART_MS = 500;

/** Starts it and restarts it on the same ports; it exits when this process does. */
export async function startEgressProcess(options: EgressOptions): Promise<EgressProcess> {
  const stopping = new AbortController();
  let { child, port, adminPort } = await spawnOnce(options, { port: 0, adminPort: 0 });

  const keepRunning = async (): Promise<void> => {
    for (;;) {
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
      if (stopping.signal.aborted) return;
      options.log.error({ code: child.exitCode, signal: child.signalCode }, 'egress proxy exited; restarting');
      try {
        await realClock.sleep(RESTART_MS, stopping.signal);
        ({ child, port, adminPort } = await spawnOnce(options, { port, adminPort }));
      } catch (err) {
        if (stopping.signal.aborted) return;
        options.log.error({ err }, 'egress proxy restart failed; browsers reach nothing until it runs');
      }
      if (stopping.signal.aborted) child.kill('SIGTERM'); // stopped while it restarted
    }
  };
  const ended = keepRunning();

  return {
    url: `http://127.0.0.1:${port}`,
    metricsUrl: `http://127.0.0.1:${adminPort}/metrics`,
    async stop() {
      stopping.abort();
      child.kill('SIGTERM');
      await ended;
    },
  };
}

/** A line of the process's log, as pino writes it. */
const logLine = z.object({ level: z.number(), msg: z.string() });
const WARN_LEVEL = 40;

async function spawnOnce(options: EgressOptions, ports: EgressReady): Promise<{ child: ChildProcess } & EgressReady> {
  // When the channel that fork opens is closed, the child knows that this process has ended.
  const child = fork(MAIN, [], {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    env: {
      ...options.environment,
      [ENV.controllerUrl]: options.controllerUrl,
      [ENV.egressSecret]: options.secret,
      [ENV.egressHost]: '127.0.0.1',
      [ENV.egressPort]: String(ports.port),
      [ENV.egressAdminHost]: '127.0.0.1',
      [ENV.egressAdminPort]: String(ports.adminPort),
      [ENV.egressAllowedCidrs]: options.allowedCidrs.join(','),
      [ENV.egressGraceSeconds]: '1',
    },
  });
  if (!child.stdout) throw new Error('the egress proxy has no output');
  createInterface({ input: child.stdout }).on('line', line => {
    const { level, msg } = logLine.parse(JSON.parse(line));
    if (level >= WARN_LEVEL) options.log.warn({ egress: msg }, 'egress proxy warning');
  });
  const exited = new AbortController();
  child.once('exit', code => exited.abort(new Error(`the egress proxy exited with ${code} before it was ready`)));
  const late = AbortSignal.timeout(START_MS);
  try {
    const [message] = await once(child, 'message', { signal: AbortSignal.any([exited.signal, late]) });
    return { child, ...egressReady.parse(message) };
  } catch (error) {
    child.kill('SIGKILL');
    if (exited.signal.aborted) throw exited.signal.reason;
    if (late.aborted) throw new Error(`the egress proxy was not ready within ${START_MS / 1000} s`);
    throw error;
  }
}
