import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Logger } from 'pino';
import { ENV } from '../contract/names.ts';

/** The egress proxy of a local stack: a process of its own, the only way out of its browsers. */
export interface EgressProcess {
  /** e.g. `http://127.0.0.1:41234`. */
  readonly url: string;
  stop(): Promise<void>;
}

export interface EgressOptions {
  controllerUrl: string;
  secret: string;
  /** Ranges that browsers may reach although they are internal, e.g. `127.0.0.2/32` for a site of this machine. */
  allowedCidrs: readonly string[];
  log: Logger;
}

/** TypeScript in a clone, JavaScript in a published package. */
const MAIN = fileURLToPath(new URL(`../egress/main.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`, import.meta.url));
const START_MS = 15_000;
const RESTART_MS = 500;

/** Starts it and keeps it running on one port; it ends with this process, however that ends. */
export async function startEgress(options: EgressOptions): Promise<EgressProcess> {
  let stopping = false;
  let { child, port } = await spawnOnce(options, 0);

  const keep = async (): Promise<void> => {
    while (!stopping) {
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
      if (stopping) return;
      options.log.error(
        { code: child.exitCode, signal: child.signalCode },
        'the egress proxy ended; it is started again',
      );
      await sleep(RESTART_MS);
      try {
        ({ child, port } = await spawnOnce(options, port));
      } catch (err) {
        options.log.error({ err }, 'the egress proxy did not start again; browsers reach nothing meanwhile');
      }
    }
  };
  const kept = keep();

  return {
    url: `http://127.0.0.1:${port}`,
    async stop() {
      stopping = true;
      child.kill('SIGTERM');
      await kept;
    },
  };
}

async function spawnOnce(options: EgressOptions, port: number): Promise<{ child: ChildProcess; port: number }> {
  // the channel that fork opens is how it notices that we are gone
  const child = fork(MAIN, [], {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    env: {
      PATH: process.env.PATH,
      [ENV.controllerUrl]: options.controllerUrl,
      [ENV.egressSecret]: options.secret,
      OMICRON_EGRESS_HOST: '127.0.0.1',
      OMICRON_EGRESS_PORT: String(port),
      OMICRON_EGRESS_ADMIN_HOST: '127.0.0.1',
      OMICRON_EGRESS_ADMIN_PORT: '0',
      OMICRON_EGRESS_ALLOWED_CIDRS: options.allowedCidrs.join(','),
      OMICRON_EGRESS_GRACE_SECONDS: '1',
    },
  });
  const ready = new Promise<number>((resolve, reject) => {
    if (!child.stdout) throw new Error('the egress proxy has no output');
    createInterface({ input: child.stdout }).on('line', line => {
      const said = JSON.parse(line) as { msg?: string; port?: number; level: number }; // pino's own lines
      if (said.msg === 'egress proxy ready' && said.port) resolve(said.port);
      else if (said.level >= 40) options.log.warn({ egress: said.msg }, 'the egress proxy says');
    });
    child.once('exit', code => reject(new Error(`the egress proxy ended with ${code} before it was ready`)));
  });
  const late = new AbortController();
  try {
    const limit = sleep(START_MS, undefined, { signal: late.signal }).then(() => {
      throw new Error(`the egress proxy was not ready within ${START_MS / 1000} s`);
    });
    return { child, port: await Promise.race([ready, limit]) };
  } catch (error) {
    child.kill('SIGKILL');
    throw error;
  } finally {
    late.abort();
  }
}
