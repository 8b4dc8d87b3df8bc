import { type AddressInfo, createServer } from 'node:net';
import type { Logger } from 'pino';
import { ENV } from '../contract/names.ts';
import { OmicronError } from '../contract/problem.ts';
import { startLocalController } from './controller.ts';
import { startEgress } from './egress-process.ts';
import { lockFile } from './lock.ts';
import { StackFolder } from './stack-folder.ts';

/** Controller, database and warm runners of one machine, in this process. */
export interface Stack {
  readonly url: string;
  readonly serviceSecret: string;
  /** Absolute. */
  readonly folder: string;
  /** Ends every lease, waits for recordings and runners, and frees the folder. Repeating it changes nothing. */
  stop(): Promise<void>;
}

export interface StackOptions {
  /** e.g. `.omicron`; made when it is not there. */
  folder: string;
  log: Logger;
  /** Left out: the one of last time if it is free, else any. */
  port?: number;
  /** Left out: Postgres in this process (PGlite), in the folder. */
  databaseUrl?: string;
  /** Browsers kept warm; 1 unless given. */
  poolIdle?: number;
  /**
   * Ranges that browsers may reach although they are internal, e.g. `127.0.0.1/32`; none unless given. `off`: no egress
   * proxy at all, so that pages reach this machine and its network.
   */
  egress?: { allowedCidrs: readonly string[] } | 'off';
  /** Other settings of the controller, by environment variable, e.g. `OMICRON_USER_LIMIT`. */
  settings?: Record<string, string>;
  /** Which browser and ffmpeg the runners take: `OMICRON_CHROMIUM`, `OMICRON_FFMPEG`, `OMICRON_CHROMIUM_SANDBOX`. */
  runnerEnv?: Record<string, string>;
}

/** Starts the local stack. Throws `stack_running` when the folder has one. */
export async function startStack(options: StackOptions): Promise<Stack> {
  const folder = new StackFolder(options.folder);
  await folder.make();
  const lock = lockFile(folder.lockFile);
  if (!lock) {
    const running = await folder.running();
    throw new OmicronError(
      'stack_running',
      `${folder.path} belongs to a stack that runs${running ? ` at ${running.url} (process ${running.pid})` : ''}. ` +
        'Use that one, stop it, or choose another --folder.',
    );
  }
  try {
    const keys = await folder.keys();
    const port = options.port || (await freePort(await folder.lastPort()));
    const { egress: ways = { allowedCidrs: [] } } = options;
    if (ways === 'off') options.log.warn('no egress proxy: pages reach this machine and its network');
    const egress =
      ways === 'off'
        ? null
        : await startEgress({
            controllerUrl: `http://127.0.0.1:${port}`,
            secret: keys.egressSecret,
            allowedCidrs: ways.allowedCidrs,
            log: options.log,
          });
    const controller = await startLocalController({
      folder: folder.path,
      keys,
      databaseUrl: options.databaseUrl ?? null,
      port,
      poolIdle: options.poolIdle ?? 1,
      settings: { ...options.settings, ...(egress ? { [ENV.egressUrl]: egress.url } : {}) },
      runnerEnv: options.runnerEnv ?? {},
      log: options.log,
    }).catch(async error => {
      await egress?.stop();
      throw error;
    });
    await folder.setRunning({ url: controller.url, pid: process.pid });
    const end = async () => {
      try {
        await controller.shutdown();
      } finally {
        await egress?.stop();
        await folder.clearRunning();
        lock.release();
      }
    };
    let stopped: Promise<void> | undefined;
    return {
      url: controller.url,
      serviceSecret: keys.serviceSecret,
      folder: folder.path,
      stop() {
        stopped ??= end();
        return stopped;
      },
    };
  } catch (error) {
    lock.release();
    throw error;
  }
}

/** The port if nobody listens there, else a free one. The egress proxy must know it before the controller listens. */
const freePort = (port: number): Promise<number> =>
  new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', error => (port === 0 ? reject(error) : resolve(freePort(0))));
    probe.listen(port, '127.0.0.1', () => {
      const { port: got } = probe.address() as AddressInfo; // it listens on TCP
      probe.close(() => resolve(got));
    });
  });
