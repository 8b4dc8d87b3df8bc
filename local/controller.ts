import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { ENV } from '../contract/names.ts';
import { type Controller, startController } from '../controller/compose.ts';
import { parseControllerSettings } from '../controller/settings.ts';
import { pgliteDatabase } from '../controller/store/pglite.ts';
import { postgresPools } from '../controller/store/postgres.ts';

/** The keys of one local stack. */
export interface LocalKeys {
  /** Text of at least 32 bytes. */
  serviceSecret: string;
  /** The secret under which the egress proxy signs its calls; at least 32 bytes. */
  egressSecret: string;
  /** Ed25519 private key, JWK as JSON. */
  signingKey: string;
  /** Base64 of 32 random bytes. */
  derivationKey: string;
  /** Base64 of 32 random bytes. */
  secretFileKey: string;
}

export interface LocalController {
  /** Holds the database, the runners' folders, recordings and the secret file. */
  folder: string;
  keys: LocalKeys;
  /** Null: PGlite in the folder. */
  databaseUrl: string | null;
  /** 0: any free one. */
  port: number;
  /** Runners kept warm. */
  poolIdle: number;
  /** Other settings of the controller, by environment variable. */
  settings: Record<string, string>;
  /** Environment of the runners: PATH, browser, sandbox, ffmpeg. */
  runnerEnv: Record<string, string>;
  log: Logger;
}

/** A controller on loopback, unless its settings name another address, with its database: `stop` and `shutdown` close that too. */
export async function startLocalController(options: LocalController): Promise<Controller> {
  const { folder, keys, databaseUrl, log } = options;
  const settings = parseControllerSettings({
    [ENV.poolIdle]: options.poolIdle,
    [ENV.secretStore]: 'file',
    [ENV.wellKnownSites]: 'on',
    [ENV.controllerHost]: '127.0.0.1',
    ...options.settings,
    [ENV.controllerPort]: options.port,
    [ENV.dataDir]: folder,
    // required, but PGlite has no address
    [ENV.databaseUrl]: databaseUrl ?? 'postgres://pglite',
    [ENV.serviceSecret]: keys.serviceSecret,
    [ENV.signingKey]: keys.signingKey,
    [ENV.derivationKey]: keys.derivationKey,
    [ENV.secretFileKey]: keys.secretFileKey,
    [ENV.egressSecret]: keys.egressSecret,
  });
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const pools =
    databaseUrl === null
      ? { database: await pgliteDatabase(join(folder, 'db')) }
      : postgresPools({
          url: databaseUrl,
          tls: settings.databaseTls,
          ca: settings.databaseCa,
          connectionsMax: settings.databaseConnections,
          log,
        });
  const { database } = pools;
  try {
    const controller = await startController({ ...pools, settings, log, runnerEnv: options.runnerEnv });
    return {
      url: controller.url,
      readMetrics: controller.readMetrics,
      stop: () => controller.stop().finally(() => database.close()),
      shutdown: () => controller.shutdown().finally(() => database.close()),
    };
  } catch (error) {
    await database.close();
    throw error;
  }
}
